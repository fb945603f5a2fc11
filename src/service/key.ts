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

/** Returns a form that is equal for all SKUs of one item: in NFC, in lower case, without surrounding spaces. */
export const comparableSku = (sku: string) => sku.normalize("NFC").trim().toLowerCase().normalize("NFC");

/** Invisible characters, and characters that look like a space. */
const INVISIBLE_PATTERN = /(?! )[\s\u0085\p{Z}\p{Cf}\u115f\u1160\u3164\uffa0]/u;

/** Describes spaces by which a SKU only looks like another SKU. Such an item could be neither renamed nor deleted. */
export function describeSkuSpaces(sku: string): string | undefined {
  if (sku !== sku.trim()) return `must not begin or end with a space, as "${sku}" does`;
  const [invisible] = INVISIBLE_PATTERN.exec(sku) ?? [];
  if (invisible === undefined) return undefined;
  const code = (invisible.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `must not contain line breaks, invisible or unusual spaces, as "${sku}" does (U+${code})`;
}

export const skuSchema = /* @__PURE__ */ lazy(skuInputSchema);
export const lazyIntegerSchema = /* @__PURE__ */ lazy(integer);
