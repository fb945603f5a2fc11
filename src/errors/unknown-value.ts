/** Whether a value is an object; null is none. */
export const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** A field of whatever has come; `undefined` where there is none. */
export const fieldOf = (value: unknown, name: string): unknown => Reflect.get(Object(value), name);

/** The message of what was thrown. Callers may throw anything, even values that cannot become a string; this never throws. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return `a thrown ${typeof thrown}`;
  }
}
