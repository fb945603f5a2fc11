import { isObject } from "../../shared/unknown.js";

/**
 * The record number in the response to a transaction, whose form is not documented: a bare number, a numeric string, or a
 * field at the top or one level down. `undefined` if there is none.
 */
export function findRecordNumber(body: unknown): number | undefined {
  const top = entriesOf(body);
  const entries = [...top, ...top.flatMap(([, value]) => entriesOf(value))];
  const named = (name: string) =>
    entries
      .filter(([key]) => key.toLowerCase() === name)
      .map(([, value]) => toRecordNumber(value))
      .find((number) => number !== undefined);
  return toRecordNumber(body) ?? named("recno") ?? named("id");
}

function toRecordNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\s*\d+\s*$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

const entriesOf = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);
