import { canonicalJson } from "../shared/canonical-json.js";
import { isObject } from "../shared/unknown.js";

const isBlank = (value: unknown) => value === "" || value === null || value === undefined;

/** Compares values of fields: strings exactly, numbers as numbers. A blank string is the same as `null`. */
export function isSameValue(one: unknown, other: unknown): boolean {
  if (isBlank(one) || isBlank(other)) return isBlank(one) && isBlank(other);
  return one === other || (isObject(one) && isObject(other) && canonicalJson(one) === canonicalJson(other));
}
