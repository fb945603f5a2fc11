/**
 * JSON that keeps what `JSON.stringify` loses: a negative zero, and the infinity that `JSON.parse` makes of a number too
 * large for a double. `JSON.parse` reads both back. The text holds neither NUL nor lone surrogates, since they are escaped.
 */
export function exactJson(value: unknown): string {
  if (typeof value === "number") return exactNumber(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(exactJson).join()}]`;
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${exactJson(member)}`);
  }
  return `{${members.join()}}`;
}

function exactNumber(value: number): string {
  if (Object.is(value, -0)) return "-0";
  if (Math.abs(value) === Number.POSITIVE_INFINITY) return value > 0 ? "1e999" : "-1e999";
  return JSON.stringify(value);
}
