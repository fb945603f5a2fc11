/**
 * JSON that keeps what `JSON.stringify` loses: a negative zero, and the infinity that `JSON.parse` makes of a number too
 * large for a double. `JSON.parse` reads both back. The text holds neither NUL nor half a surrogate pair, since they are escaped.
 *
 * @param spell How texts and names are spelled before they become JSON.
 */
export function exactJson(value: unknown, spell: (text: string) => string = asItIs): string {
  if (typeof value === "string") return JSON.stringify(spell(value));
  if (typeof value === "number") return exactNumber(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map((member) => exactJson(member, spell))}]`;
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(spell(name))}:${exactJson(member, spell)}`);
  }
  return `{${members}}`;
}

const asItIs = (text: string) => text;

function exactNumber(value: number): string {
  if (Object.is(value, -0)) return "-0";
  if (Math.abs(value) === Number.POSITIVE_INFINITY) return value > 0 ? "1e999" : "-1e999";
  return JSON.stringify(value);
}
