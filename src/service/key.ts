import { integer, lazy, string, withCheck } from "../shared/field.js";

/** Returns what is wrong with a key for a path or query, or `undefined`. */
export function describeKeyProblem(key: string): string | undefined {
  if (key === "") return "must not be empty";
  if (key === "." || key === "..") return `must not be "${key}", which a URL would drop`;
  if (!key.isWellFormed()) return "must be well-formed Unicode";
  return undefined;
}

/** A SKU or alias: a string that can be part of a URL. */
export const skuInputSchema = () => withCheck(string(), describeKeyProblem);

/** Equal for SKUs that identify the same item: the service may ignore spaces around a SKU, and case. */
export const comparableSku = (sku: string) => sku.trim().toLowerCase();

export const skuSchema = /* @__PURE__ */ lazy(skuInputSchema);
export const lazyIntegerSchema = /* @__PURE__ */ lazy(integer);
