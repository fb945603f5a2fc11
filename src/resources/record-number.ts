/** The names under which a record number may come, the likeliest first. Compared without case. */
const NAMES = ["recno", "id"];

/**
 * The record number in the answer to a transaction, whose form the document does not show: a bare number, numeric text,
 * or a field of the body or one level down. `undefined` when there is none.
 */
export function recordNumber(body: unknown): number | undefined {
  const bare = toNumber(body);
  if (bare !== undefined) return bare;
  const levels = [[body], childrenOf(body)];
  for (const name of NAMES) {
    for (const level of levels) {
      for (const object of level) {
        const found = entriesOf(object).find(
          ([key, value]) => key.toLowerCase() === name && toNumber(value) !== undefined,
        );
        if (found) return toNumber(found[1]);
      }
    }
  }
  return undefined;
}

function toNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\s*\d+\s*$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === "object" && value !== null ? Object.entries(value) : [];

const childrenOf = (body: unknown): unknown[] => entriesOf(body).map(([, value]) => value);
