/**
 * JSON that keeps what `JSON.stringify` loses: negative zero, and the infinity that `JSON.parse` reads from a number too
 * large for a double. `JSON.parse` reads both back. NUL and unpaired surrogates are escaped.
 *
 * @param encode Applied to each string and each name before it becomes JSON.
 */
export function stringifyExactly(value: unknown, encode: (text: string) => string = unchanged): string {
  if (typeof value === "string") return JSON.stringify(encode(value));
  if (typeof value === "number") return stringifyNumberExactly(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((member) => stringifyExactly(member, encode))}]`;
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(encode(name))}:${stringifyExactly(member, encode)}`);
  }
  return `{${members}}`;
}

const unchanged = (text: string) => text;

function stringifyNumberExactly(value: number): string {
  if (Object.is(value, -0)) return "-0";
  if (Math.abs(value) === Number.POSITIVE_INFINITY) return value > 0 ? "1e999" : "-1e999";
  return JSON.stringify(value);
}
