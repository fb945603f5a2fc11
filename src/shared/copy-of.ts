import { isObject } from "./unknown.js";

/** How deeply arguments are nested: options, `retry`, `rateLimitDelayMs`. Their schemas reject anything deeper. */
const MAX_COPY_DEPTH = 3;

/**
 * Copies an argument, so that later changes of the caller's objects have no effect. Anything but plain data and `Date`, such
 * as a function, a signal or an instance of a class, is not copied.
 */
export function copyPlainData<T>(value: T, depth?: number): T;
export function copyPlainData(value: unknown, depth = 0): unknown {
  if (value instanceof Date) return new Date(value);
  if (depth > MAX_COPY_DEPTH) return value;
  if (Array.isArray(value)) return value.map((entry) => copyPlainData(entry, depth + 1));
  if (!isObject(value) || !isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, copyPlainData(entry, depth + 1)]));
}

/**
 * The fields of an argument, each read once: those with these names, wherever they are defined (a class defines its getters on
 * its prototype), and all others that a loop finds. What is validated is then what is sent.
 */
export function readFields<T>(value: T, names: readonly string[]): T;
export function readFields(value: unknown, names: readonly string[]): unknown {
  if (!isObject(value) || Array.isArray(value)) return value;
  const found = new Set<PropertyKey>(names.filter((name) => name in value));
  for (const name in value) found.add(name);
  for (const symbol of Object.getOwnPropertySymbols(value)) found.add(symbol);
  return Object.fromEntries([...found].map((name) => [name, copyPlainData(Reflect.get(value, name), 1)]));
}

/** Copies an argument now. If reading it throws, the returned function throws that. */
export function snapshotArgument<T>(value: T): () => T {
  try {
    const copy = copyPlainData(value);
    return () => copy;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Anything but a Map, an AbortSignal, a typed array and other classes with data of their own kind. */
export const isRecord = (value: object) =>
  isPlainObject(value) || Object.prototype.toString.call(value) === "[object Object]";

export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm, such as that of a test runner, has another `Object.prototype`.
  return prototype === null || (typeof prototype === "object" && Object.getPrototypeOf(prototype) === null);
}
