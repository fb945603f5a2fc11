/** Anything but a Map, an AbortSignal, a typed array and other classes with data of their own kind. */
export const isRecord = (value: object) =>
  isPlainObject(value) || Object.prototype.toString.call(value) === "[object Object]";

export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm, such as that of a test runner, has another `Object.prototype`.
  return prototype === null || (typeof prototype === "object" && Object.getPrototypeOf(prototype) === null);
}
