import { redactCredentials } from "../../errors/redaction/redact.js";
import { isObject } from "../../errors/unknown-value.js";

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

/** Whether two SKUs identify the same item: the service may trim them, or ignore case. */
export const isSameSku = (one: unknown, other: unknown) =>
  normalize(one).toLowerCase() === normalize(other).toLowerCase();

const normalize = (value: unknown) => (isObject(value) ? JSON.stringify(value) : String(value ?? "").trim());
