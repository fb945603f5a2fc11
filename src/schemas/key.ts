import { integer, lazy, refined, text } from "./field.js";

/** Keys that a URL would lose or take for a way up. */
const LOST_IN_A_URL = new Set(["", ".", ".."]);

/** Tells what is wrong with a key that goes into a path or query, or `undefined`. */
export function keyProblem(key: string): string | undefined {
  if (LOST_IN_A_URL.has(key)) return `"${key}" cannot be used as a key`;
  if (!key.isWellFormed()) return "must be well-formed Unicode";
  return undefined;
}

/** A SKU or alias: text that a URL can carry. */
export const skuInput = () => refined(text(), keyProblem);

export const skuSchema = /* @__PURE__ */ lazy(skuInput);
export const integerSchema = /* @__PURE__ */ lazy(integer);
