/** Calls a function of the caller's. Whether it throws or rejects, `onError` receives the error. */
export function callSafely(run: () => unknown, onError: (error: unknown) => void = () => {}): void {
  try {
    settle(run(), onError);
  } catch (error) {
    onError(error);
  }
}

/**
 * Handles the rejection of a value that a function of the caller's has returned. Any object may be a thenable. Throws
 * only if a getter of the value throws.
 */
export function settle(returned: unknown, onError: (error: unknown) => void = () => {}): void {
  if (Object(returned) !== returned) return;
  // Calls the method of the prototype, because the promise may have been given other methods.
  if (returned instanceof Promise) Promise.prototype.then.call(returned, undefined, onError);
  else if (typeof Reflect.get(Object(returned), "then") === "function")
    new Promise((resolve) => resolve(returned)).then(undefined, onError);
}

/** Whether a function of the caller's has returned true. */
export function isTrue(returned: unknown): boolean {
  if (returned !== true) settle(returned);
  return returned === true;
}
