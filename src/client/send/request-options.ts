import * as z from "zod";
import { abortSignalSchema, durationMsSchema, functionSchema } from "../../shared/option.js";
import { checkInput, lazy, optionalFields, string } from "../../shared/schema.js";
import type { Priority } from "../limiter/rate-limiter.js";
import { describeHeaderProblem } from "../transport/headers.js";
import { type RetryOptions, retryOptionsSchema } from "./retry-options.js";

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
  /** Number of attempts of all requests of the call, including attempts that failed before anything was sent. */
  attempts: number;
  /** The whole call, in ms: waiting, attempts and back-offs. */
  durationMs: number;
}

/** Settings of one call; the last argument of every method. */
export interface RequestOptions {
  /**
   * Aborts the call. It rejects with the signal's reason; if a write was already sent, with an `OutcomeUnknownError`
   * whose `cause` is that reason. `null` is no signal, as in fetch.
   * @default none
   * @example
   * // Not longer than two seconds, and not after the visitor has left.
   * const { signal } = new AbortController();
   * await client.items.get("BOLT-M8", {
   *   signal: AbortSignal.any([signal, AbortSignal.timeout(2_000)]),
   * });
   */
  signal?: AbortSignal | null | undefined;
  /**
   * Time limit of one attempt in ms, from sending to the last byte of the body. `Infinity` for no limit.
   * @default the client's, 30_000
   * @example
   * // This list is slow on Mondays.
   * await client.inventory.listLots({}, { timeoutMs: 120_000 }).toArray();
   */
  timeoutMs?: number | undefined;
  /**
   * Time limit of the whole call in ms: waiting for a slot, attempts, back-offs. In an iteration it applies to each
   * page. `Infinity` for no limit.
   * @default the client's, none
   * @example
   * // Answer within three seconds, or not at all.
   * await client.inventory.getStockLevel("BOLT-M8", {}, { totalTimeoutMs: 3_000 });
   */
  totalTimeoutMs?: number | undefined;
  /**
   * When the call is retried. Options that are left out have the client's values. `false` for never.
   * @default the client's
   * @example
   * // Try it once more at most, but wait for a 429 as usual.
   * await client.items.get("BOLT-M8", { retry: { maxRetries: 1 } });
   */
  retry?: RetryOptions | false | undefined;
  /**
   * How urgent the call is among the calls that wait for a slot.
   * @default "high" for writes, "normal" for reads, "low" for further pages of an iteration
   * @example
   * // A report that must not slow down the scanners.
   * await client.items.get("BOLT-M8", { priority: "low" });
   */
  priority?: Priority | undefined;
  /**
   * Additional headers. `authorization`, `host` and framing headers such as `content-length` cannot be set.
   * @default none
   * @example
   * await client.items.get("BOLT-M8", {
   *   headers: { "x-request-id": crypto.randomUUID() },
   * });
   */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Called with the raw data of the final response, whether it is a success or an error. Not called if there was no
   * response.
   * @default none
   * @example
   * // Print how many requests the service still allows.
   * await client.items.get("BOLT-M8", {
   *   onResponse: ({ headers }) => console.log(headers["x-ratelimit-remaining"]),
   * });
   */
  onResponse?: ((response: ResponseInfo) => void) | undefined;
  /**
   * Called and awaited before each attempt, when the attempt has a token and a slot. It may return a function, which
   * must not be async. This function is called right before the first byte is sent, or right before `fetch` is called.
   * If one of the two functions throws, nothing is sent, and the call rejects with the thrown value.
   * @default none
   * @example
   * // Note each attempt before its first byte can leave.
   * await client.items.get("BOLT-M8", {
   *   beforeSend: ({ attempt }) => console.log(`attempt ${attempt}`),
   * });
   */
  beforeSend?:
    | ((attempt: {
        /** Number of the attempt, from 1. */
        attempt: number;
        /** How far the service's clock is ahead of this machine's, at least, in ms; `undefined` if that is not known. */
        clockAheadMs: number | undefined;
        // biome-ignore lint/suspicious/noConfusingVoidType: a callback that returns nothing is the usual case
      }) => void | (() => void) | Promise<void | (() => void)>)
    | undefined;
}

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
    beforeSend: functionSchema(),
  });

const requestOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject(requestOptionsShape()));

/** Returns a copy of the options, or rejects options that are wrong, with an `InputValidationError`. */
export function checkRequestOptions(label: string, options: RequestOptions): RequestOptions {
  return checkInput(label, requestOptionsSchema, options, [], { noun: "option" });
}
