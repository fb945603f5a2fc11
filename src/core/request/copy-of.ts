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
  if (typeof value !== "object" || value === null || !isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, copyPlainData(entry, depth + 1)]));
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

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm, such as that of a test runner, has another `Object.prototype`.
  return prototype === null || (typeof prototype === "object" && Object.getPrototypeOf(prototype) === null);
}
