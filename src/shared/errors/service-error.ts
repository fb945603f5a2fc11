/** Shared by both copies of the package (ES module, CommonJS). */
const SERVICE_ERROR = Symbol.for("stocklot.isServiceError");

/** Notes that the body of the response was the service's own error object. */
export const markAsServiceError = (error: Error) => void Object.defineProperty(error, SERVICE_ERROR, { value: true });

/** Whether the service itself has refused a request. A proxy's error page may have any status. */
export const isServiceError = (error: unknown): boolean =>
  error instanceof Error && Reflect.get(error, SERVICE_ERROR) === true;
