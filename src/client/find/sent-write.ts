import * as z from "zod";
import { comparableSku } from "../../service/key.js";
import { WRITES } from "../../service/operations.js";
import { isSameValue } from "../../service/same-value.js";
import { InputValidationError, OutcomeUnknownError, type SentRequest } from "../../shared/errors/index.js";
import { REDACTED, redactCredentials } from "../../shared/errors/redact.js";
import { decimal, integer, type LazySchema, lazy, optionalFields, readInput, string } from "../../shared/schema.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { fieldOf, isObject } from "../../shared/unknown.js";
import { monotonicSentAt } from "../send/caller-error.js";

/** The fields that a receipt shares with its lot. */
const receiptSchema = /* @__PURE__ */ lazy(() => {
  const [text, number] = [string(), integer()];
  const shared = { spot: text, serial: text, serial2: text, rfidTag: text, remark: text, jobid: number };
  return z.object({ itemID: text, units: decimal(), wid: number, ...optionalFields(shared) });
});
const creationSchema = /* @__PURE__ */ lazy(() => z.looseObject({ shortID: string() }));

/** A copy of a write as it was sent: later changes to the caller's object have no effect. */
interface Sent<Body> {
  body: Body;
  /** In ms since the epoch, by the clock of this machine. */
  sentAt: number;
  /** How far the clock of the service was ahead then, in ms, if that was known. */
  clockAheadMs?: number | undefined;
  /** The highest record number that was seen before. */
  lastRecNo?: number | undefined;
  /** How long ago it was sent, in ms. */
  ageMs: number;
  /** Whether this process has sent the write. Then its age is exact, even if a clock was set. */
  isSentHere: boolean;
}

export type SentReceipt = Sent<z.infer<ReturnType<typeof receiptSchema>>>;
export type SentCreation = Sent<z.infer<ReturnType<typeof creationSchema>>>;

export const readSentReceipt = (sent: OutcomeUnknownError | SentRequest): SentReceipt =>
  readSent("inventory.findReceipt", sent, { write: "receive", body: receiptSchema });

export const readSentCreation = (sent: OutcomeUnknownError | SentRequest): SentCreation =>
  readSent("items.findCreated", sent, { write: "create", body: creationSchema });

/** Reads the write from the error of a lost response or from its `request`. Throws an `InputValidationError` for anything else. */
function readSent<Body>(
  method: string,
  sent: unknown,
  { write, body }: { write: "receive" | "create"; body: LazySchema<z.ZodType<Body>> },
): Sent<Body> {
  const request: unknown = sent instanceof OutcomeUnknownError ? sent.request : sent;
  const isOf = (name: "path" | "method") => fieldOf(request, name) === WRITES[write][name];
  if (!isOf("path") || !isOf("method")) {
    const message = `must be the OutcomeUnknownError of a ${write}, or its request`;
    throw new InputValidationError(method, [{ path: ["sent"], message }]);
  }
  const schema = () =>
    z.object({
      body: body(),
      sentAt: z.number(),
      clockAheadMs: z.number().optional(),
      lastRecNo: integer().optional(),
    });
  const read = readInput(method, schema, request, ["sent"]);
  const sentHere = isObject(request) ? monotonicSentAt.get(request) : undefined;
  const ageMs = sentHere === undefined ? Date.now() - read.sentAt : monotonicNowMs() - sentHere;
  // A `sentAt` in the future is wrong. Its age counts as 0: after another `settleMs`, the request has certainly ended.
  return { ...read, ageMs: Math.max(0, ageMs), isSentHere: sentHere !== undefined };
}

/** Whether a secret was replaced in a value. */
export const isRedacted = (value: string) => value.includes(REDACTED);

/**
 * Whether a record has the value that was sent. White space around texts does not count, since a service may remove it. If the
 * value that was sent was redacted, the value of the record is redacted before comparing.
 */
export function isStoredAs(sent: unknown, stored: unknown): boolean {
  if (isSameValue(trimmed(sent), trimmed(stored))) return true;
  const wanted = normalize(sent);
  return isRedacted(wanted) && wanted === redactCredentials(normalize(stored));
}

/**
 * Whether a text of a record shows the text that was sent: unchanged, between other words, or cut off. If lots are
 * merged, their texts are merged, too.
 */
export function showsText(sent: unknown, stored: unknown): boolean {
  if (isBlankText(sent) || isBlankText(stored)) return false;
  if (isStoredAs(sent, stored)) return true;
  const otherForms = plainForms(stored);
  if (plainForms(sent).some((form) => otherForms.includes(form))) return true;
  const [wanted, shown] = [normalize(sent).toLowerCase(), normalize(stored).toLowerCase()];
  if (shown.length >= MIN_CUT_LENGTH && wanted.startsWith(shown)) return true;
  for (let at = shown.indexOf(wanted); at >= 0; at = shown.indexOf(wanted, at + 1))
    if (
      !isWordBetween(shown.charAt(at - 1), wanted.charAt(0)) &&
      !isWordBetween(wanted.at(-1) ?? "", shown.charAt(at + wanted.length))
    )
      return true;
  return false;
}

/**
 * Reduces a text to its ASCII letters and digits, so that it can be compared with a form in which a service may have
 * stored it. HTML entities and leading zeros are removed. Returns two forms: in one, accented letters lose their
 * accents; in the other, accented letters are removed.
 */
function plainForms(text: unknown): string[] {
  const known = normalize(text).replace(/&#?\w+;/g, "");
  const forms = [known.normalize("NFKD"), known].map((form) => form.toLowerCase().replace(/[^a-z0-9]/g, ""));
  return forms.map((form) => form.replace(/^0+/, "")).filter((form) => form !== "");
}

/** A shorter text does not count as the beginning of the sent text: it could be the beginning of any text. */
const MIN_CUT_LENGTH = 3;

const isWordBetween = (one: string, next: string) => /[\p{L}\p{N}]/u.test(one) && /[\p{L}\p{N}]/u.test(next);

export const isBlankText = (text: unknown) => normalize(text) === "";

export const isSameSku = (one: unknown, other: unknown) =>
  comparableSku(normalize(one)) === comparableSku(normalize(other));

const trimmed = (value: unknown) => (typeof value === "string" ? value.trim() : value);

const normalize = (value: unknown) => (isObject(value) ? JSON.stringify(value) : String(value ?? "").trim());
