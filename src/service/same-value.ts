import { canonicalJson } from "../shared/canonical-json.js";
import { isObject } from "../shared/unknown.js";

const isBlank = (value: unknown) => value === "" || value === null || value === undefined;

/**
 * Whether a field has the value that is wanted, or that was sent: strings are compared exactly, numbers as numbers, objects
 * without regard to the order of their members. An empty string is the same as `null`; a number and a text are never the same.
 */
export function isSameValue(one: unknown, other: unknown): boolean {
  if (isBlank(one) || isBlank(other)) return isBlank(one) && isBlank(other);
  return one === other || (isObject(one) && isObject(other) && canonicalJson(one) === canonicalJson(other));
}
