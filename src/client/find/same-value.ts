import { comparableSku } from "../../service/key.js";
import { redactCredentials } from "../../shared/errors/redact.js";
import { isObject } from "../../shared/unknown.js";

/** Replaces a secret in the `request` of an error. */
const REDACTED = "[redacted]";

export const isRedacted = (value: string) => value.includes(REDACTED);

/** Whether a record has the value that was sent. If that was redacted, the value of the record is redacted before comparing. */
export function isSameValue(sent: unknown, stored: unknown): boolean {
  const wanted = normalize(sent);
  const shown = normalize(stored);
  return wanted === shown || (isRedacted(wanted) && wanted === redactCredentials(shown));
}

/** Whether a string is missing or has nothing but spaces. */
export const isBlank = (text: unknown) => normalize(text) === "";

export const isSameSku = (one: unknown, other: unknown) =>
  comparableSku(normalize(one)) === comparableSku(normalize(other));

const normalize = (value: unknown) => (isObject(value) ? JSON.stringify(value) : String(value ?? "").trim());
