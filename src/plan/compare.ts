import { isObject } from "../errors/unknown-value.js";
import { canonicalJson } from "../schemas/canonical-json.js";

/** A value that the service keeps in another form than it was sent, such as in upper case. */
export interface StoredForm {
  /** SKU of the item. */
  shortID: string;
  /** Name of the field. */
  field: string;
  /** The value that was sent. */
  sent: unknown;
  /** The value that the service keeps. */
  stored: unknown;
}

const isBlank = (value: unknown) => value === "" || value === null || value === undefined;

/** Strings exactly, numbers as numbers. A blank string is the same as `null`. */
export function isSameValue(one: unknown, other: unknown): boolean {
  if (isBlank(one) || isBlank(other)) return isBlank(one) && isBlank(other);
  return one === other || (isObject(one) && isObject(other) && canonicalJson(one) === canonicalJson(other));
}

/** Compares desired values with present ones; pairs that are known as stored forms are equal. */
export type IsDesired = (shortID: string, field: string, desired: unknown, present: unknown) => boolean;

export function comparisonWith(forms: readonly StoredForm[]): IsDesired {
  const byField = new Map<string, StoredForm[]>();
  const keyOf = (shortID: string, field: string) => JSON.stringify([shortID, field]);
  for (const form of forms) {
    const key = keyOf(form.shortID, form.field);
    byField.set(key, [...(byField.get(key) ?? []), form]);
  }
  return (shortID, field, desired, present) =>
    isSameValue(desired, present) ||
    (byField.size > 0 &&
      (byField.get(keyOf(shortID, field)) ?? []).some(
        ({ sent, stored }) => isSameValue(sent, desired) && isSameValue(stored, present),
      ));
}
