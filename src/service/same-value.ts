import { canonicalJson } from "../shared/canonical-json.js";
import { isObject } from "../shared/unknown.js";

const isBlank = (value: unknown) => value === "" || value === null || value === undefined;

/**
 * Whether two values of a field are equal. Strings are compared exactly, objects without regard to the order of their
 * members. An empty string equals `null` and `undefined`. A number never equals a string.
 */
export function isSameValue(one: unknown, other: unknown): boolean {
  if (isBlank(one) || isBlank(other)) return isBlank(one) && isBlank(other);
  return one === other || (isObject(one) && isObject(other) && canonicalJson(one) === canonicalJson(other));
}
