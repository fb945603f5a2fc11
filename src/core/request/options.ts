import * as z from "zod";
import { fieldOf, isObject } from "../../errors/unknown-value.js";
import type { Priority } from "../../limiter/rate-limiter.js";
import { lazy, optionalFields, string } from "../../schemas/field.js";
import type { RetryOptions } from "../retry-policy.js";
import { ATTEMPT_JOURNAL, type AttemptJournal } from "./attempt-journal.js";
import { checkInput } from "./check-input.js";

/** The raw data of a final response. */
export interface ResponseInfo {
  /** HTTP status. */
  status: number;
  /** Names in lower case; several values of one name are joined by a comma. */
  headers: Record<string, string>;
  /** HTTP method. */
  method: string;
  /** Relative to `baseUrl`, encoded, without the query. */
  path: string;
  /** How often the request was sent. */
  attempts: number;
  /** The whole call, in ms: waiting, attempts and back-offs. */
  durationMs: number;
}

/** Settings of one call; the last argument of every method. */
export interface RequestOptions {
  /**
   * Ends the call, which then rejects with the signal's reason (or with an `OutcomeUnknownError` that has it as its
   * cause, if a write was already sent).
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * One attempt, from sending to the last byte of the body, in ms. `Infinity` for no limit.
   * @default the client's, 30_000
   */
  timeoutMs?: number | undefined;
  /**
   * The whole call, in ms: waiting for a slot, attempts, back-offs. Applies to each page of an iteration. `Infinity` for
   * no limit.
   * @default the client's, none
   */
  totalTimeoutMs?: number | undefined;
  /**
   * When the call is retried; options that are left out are the client's. `false` for never.
   * @default the client's
   */
  retry?: RetryOptions | false | undefined;
  /**
   * How urgent the call is among those that wait for a slot.
   * @default "high" for writes, "normal" for reads, "low" for further pages of an iteration
   */
  priority?: Priority | undefined;
  /**
   * Further headers. `authorization`, `host` and those that frame the message cannot be set.
   * @default none
   */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Called with the raw data of the final response, errors included; not called if there was none.
   * @default none
   */
  onResponse?: ((response: ResponseInfo) => void) | undefined;
  /** Records the attempts of the call. @internal */
  [ATTEMPT_JOURNAL]?: AttemptJournal | undefined;
}

const RESERVED_HEADER_PATTERN =
  /^(authorization|connection|content-length|expect|host|keep-alive|proxy-(authorization|connection)|te|trailer|transfer-encoding|upgrade)$/i;

/** A time in ms. */
export const durationMsSchema = () =>
  z.custom<number>((value) => typeof value === "number" && value > 0, "must be a number of ms greater than 0");

const countOrInfinitySchema = () =>
  z.custom<number>(
    (value) => (Number.isSafeInteger(value) && Number(value) >= 0) || value === Infinity,
    "must be an integer of at least 0, or Infinity",
  );

export const retryOptionsSchema = /* @__PURE__ */ lazy(() => {
  const options = {
    maxRetries: countOrInfinitySchema(),
    minDelayMs: durationMsSchema(),
    maxDelayMs: durationMsSchema(),
    maxRateLimitRetries: countOrInfinitySchema(),
    rateLimitDelayMs: z
      .tuple([durationMsSchema(), durationMsSchema()])
      .refine(([shortest, longest]) => shortest <= longest, "must be [shortest, longest]"),
  };
  return z.union([z.literal(false), z.strictObject(options).partial()], {
    error: `must be false or an object of ${Object.keys(options).join(", ")}`,
  });
});

/** A value that has these methods. */
export const objectWithMethodsSchema = <T>(methods: string[], message: string) =>
  z.custom<T>((value) => methods.every((name) => typeof fieldOf(value, name) === "function"), message);

export const functionSchema = () => z.custom<() => void>((value) => typeof value === "function", "must be a function");

/** Any `AbortSignal`, whichever realm or polyfill it is from. */
export const abortSignalSchema = () =>
  z.custom<AbortSignal>(
    (value) => isObject(value) && "aborted" in value && "addEventListener" in value,
    "must be an AbortSignal",
  );

/** Header fields that a caller may set, by name. */
export const headersSchema = () =>
  z.record(string(), string()).superRefine((values, { addIssue }) => {
    for (const [name, value] of Object.entries(values)) {
      const message = describeHeaderProblem(name, value);
      if (message) addIssue({ code: "custom", path: [name], message });
    }
  });

export const requestOptionsShape = () =>
  optionalFields({
    signal: abortSignalSchema(),
    timeoutMs: durationMsSchema(),
    totalTimeoutMs: durationMsSchema(),
    retry: retryOptionsSchema(),
    priority: z.enum(["high", "normal", "low"]),
    headers: headersSchema(),
    onResponse: functionSchema(),
  });

const requestOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject(requestOptionsShape()));

/** Rejects options that are wrong, with an `InputValidationError`. */
export function checkRequestOptions(method: string, options: RequestOptions): void {
  checkInput(method, requestOptionsSchema, options, [], { noun: "option" });
}

/** What is wrong with a header, or `undefined`. */
export function describeHeaderProblem(name: string, value: string): string | undefined {
  if (RESERVED_HEADER_PATTERN.test(name)) return "is set by the client";
  if (!/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) return "is not a header name";
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return "has characters that a header cannot have";
  return undefined;
}

/** The same headers; a later one replaces an earlier one of the same name. */
export const lowerCaseHeaderNames = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
