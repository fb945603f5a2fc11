import { integer, lazy, string, withCheck } from "../shared/schema.js";

/** Returns what is wrong with a key for a path or query, or `undefined`. */
export function describeKeyProblem(key: string): string | undefined {
  if (key === "") return "must not be empty";
  if (key === "." || key === "..") return `must not be "${key}", which a URL would drop`;
  if (!key.isWellFormed()) return "must be well-formed Unicode";
  return undefined;
}

/** A SKU or alias: a string that can be part of a URL. */
export const skuInputSchema = () => withCheck(string(), describeKeyProblem);

/** Equal for SKUs that identify the same item: in any Unicode form, without regard to case and to spaces around them. */
export const comparableSku = (sku: string) => sku.normalize("NFC").trim().toLowerCase().normalize("NFC");

/** Characters that nobody sees, or takes for a space. */
const INVISIBLE_PATTERN = /(?! )[\s\u0085\p{Z}\p{Cf}\u115f\u1160\u3164\uffa0]/u;

/** Why a SKU looks like another one; `undefined` if it does not. Such an item could be neither renamed nor deleted. */
export function describeSkuSpaces(sku: string): string | undefined {
  if (sku !== sku.trim()) return `must not begin or end with a space, as "${sku}" does`;
  const [invisible] = INVISIBLE_PATTERN.exec(sku) ?? [];
  if (invisible === undefined) return undefined;
  const code = (invisible.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `must not contain line breaks, invisible or unusual spaces, as "${sku}" does (U+${code})`;
}

export const skuSchema = /* @__PURE__ */ lazy(skuInputSchema);
export const lazyIntegerSchema = /* @__PURE__ */ lazy(integer);
