import { integer, lazy, refined, string } from "./field.js";

/** Keys that a URL would drop, or resolve as a dot segment. */
const UNUSABLE_IN_URL = new Set(["", ".", ".."]);

/** Returns what is wrong with a key for a path or query, or `undefined`. */
export function keyProblem(key: string): string | undefined {
  if (UNUSABLE_IN_URL.has(key)) return `"${key}" cannot be used as a key`;
  if (!key.isWellFormed()) return "must be well-formed Unicode";
  return undefined;
}

/** A SKU or alias: a string that can be part of a URL. */
export const skuInput = () => refined(string(), keyProblem);

export const skuSchema = /* @__PURE__ */ lazy(skuInput);
export const integerSchema = /* @__PURE__ */ lazy(integer);
