import { integer, lazy, string, withCheck } from "./field.js";

/** Keys that a URL would drop, or resolve as a dot segment. */
const KEYS_UNUSABLE_IN_URL = new Set(["", ".", ".."]);

/** Returns what is wrong with a key for a path or query, or `undefined`. */
export function describeKeyProblem(key: string): string | undefined {
  if (KEYS_UNUSABLE_IN_URL.has(key)) return `"${key}" cannot be used as a key`;
  if (!key.isWellFormed()) return "must be well-formed Unicode";
  return undefined;
}

/** A SKU or alias: a string that can be part of a URL. */
export const skuInputSchema = () => withCheck(string(), describeKeyProblem);

export const skuSchema = /* @__PURE__ */ lazy(skuInputSchema);
export const lazyIntegerSchema = /* @__PURE__ */ lazy(integer);
