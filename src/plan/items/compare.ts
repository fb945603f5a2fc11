import * as z from "zod";
import { isSameValue } from "../../service/same-value.js";
import { groupBy } from "../../shared/group-by.js";
import { string } from "../../shared/schema.js";

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

export const storedFormSchema = () =>
  z.object({ shortID: string(), field: string(), sent: z.unknown(), stored: z.unknown() });

/** Returns the value of a field; `null` if the item does not have the field. */
export const fieldValue = (item: object, name: string): unknown =>
  Object.hasOwn(item, name) ? (Reflect.get(item, name) ?? null) : null;

/** Compares desired values with present values. A pair of values that is a known stored form counts as equal. */
export class Comparison {
  /** The stored forms that made values equal. */
  readonly storedForms: StoredForm[] = [];
  readonly #forms: ReadonlyMap<string, readonly StoredForm[]>;

  constructor(forms: readonly StoredForm[]) {
    this.#forms = groupBy(forms, ({ shortID, field }) => fieldKey(shortID, field));
  }

  isDesired(shortID: string, field: string, desired: unknown, present: unknown): boolean {
    if (isSameValue(desired, present)) return true;
    const form = (this.#forms.get(fieldKey(shortID, field)) ?? []).find(
      ({ sent, stored }) => isSameValue(sent, desired) && isSameValue(stored, present),
    );
    if (form) this.storedForms.push(form);
    return form !== undefined;
  }
}

const fieldKey = (shortID: string, field: string) => JSON.stringify([shortID, field]);
