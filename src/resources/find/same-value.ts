import { isObject } from "../../errors/field-of.js";
import { redact } from "../../errors/redact.js";

/** What stands in place of a secret in the `request` of an error. */
const REDACTED = "[redacted]";

export const isRedacted = (text: string) => text.includes(REDACTED);

/** Whether a record shows the value that was sent. What was sent may be redacted by now; so is then what it is compared with. */
export function isSameValue(sent: unknown, stored: unknown): boolean {
  const wanted = normalize(sent);
  const shown = normalize(stored);
  return wanted === shown || (isRedacted(wanted) && wanted === redact(shown));
}

/** Whether two SKUs name the same item: the service may trim them, or ignore their case. */
export const isSameSku = (one: string, other: string) =>
  normalize(one).toLowerCase() === normalize(other).toLowerCase();

const normalize = (value: unknown) => (isObject(value) ? JSON.stringify(value) : String(value ?? "").trim());
