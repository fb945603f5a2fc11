/**
 * Returns a copy of plain objects, arrays and dates, at any depth, so that the caller may change the original. Other
 * values are not copied: they cannot be changed, or are refused later.
 */
export function snapshotOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snapshotOf);
  if (value instanceof Date) return new Date(value.getTime());
  if (typeof value !== "object" || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, snapshotOf(field)]));
}
