import { CanceledError } from "../../shared/time/cancellation.js";
import { fieldOf, messageOf, toOneLine } from "../../shared/unknown.js";
import { type AttemptTrace, isSuccessStatus, TransportFailure, type WireResponse } from "../transport/transport.js";
import type { Sending } from "./call.js";
import { type AttemptOutcome, isTransientStatus, parseRetryAfterMs } from "./retry-policy.js";

/** Thrown if the service responded with an error status. */
export class ErrorResponse extends Error {
  /** The wait that the service requests, in ms. */
  readonly retryAfterMs: number | undefined;
  /** For a 429: the rest of the pause, in ms. */
  pauseMs = 0;

  constructor(readonly response: WireResponse) {
    super(`HTTP ${response.status}`);
    this.retryAfterMs = parseRetryAfterMs(response.headers, Date.now());
  }
}

/** Thrown if the response to a write has a success status but reports no success: it is not known whether it was applied. */
export class FalseSuccess extends Error {}

/** Thrown if others may have the slot by the time at which the request would be sent. Nothing was sent. */
export class SlotExpired extends Error {
  constructor() {
    super("the process stood still, and its slot has expired");
  }
}

/**
 * How every call fails, from here to the callers who wait for it: several wait for a token, or for a page that was read
 * ahead. Each receives an error of its own (`createCallerError`), created where that caller waits, so that the stack trace
 * contains that line. A call that waited for a token fails with the failure of the token request.
 */
export class CallFailure extends Error {
  constructor(
    readonly sending: Sending,
    /** What an attempt, the policy or the reader has thrown. */
    readonly thrown: unknown,
  ) {
    super(messageOf(thrown));
  }
}

/** The failure of the last attempt as the retry policy needs it; `undefined` if no retry can help. */
export function outcomeOfFailedAttempt(sending: Sending, failure: unknown): AttemptOutcome | undefined {
  if (failure instanceof ErrorResponse)
    return { sent: true, status: failure.response.status, retryAfterMs: failure.retryAfterMs };
  if (failure instanceof SlotExpired) return { sent: false, slotExpired: true };
  const isRetriable =
    failure instanceof TransportFailure && (failure.kind === "connection" || failure.kind === "timeout");
  return isRetriable && !failure.network?.permanent ? { sent: sending.attemptTrace?.sent === true } : undefined;
}

interface Attempted extends Pick<Sending, "request"> {
  attemptTrace: Pick<AttemptTrace, "sent" | "head"> | undefined;
}

/** Whether the service may have applied the request of the failed attempt. */
export function mayHaveBeenApplied(sending: Attempted, failure: unknown): boolean {
  if (failure instanceof FalseSuccess) return true;
  if (failure instanceof ErrorResponse) return leavesOutcomeOpen(failure.response.status);
  // Canceled while the caller's schema validated the response to a write that was applied.
  if (failure instanceof CanceledError) return isSuccessStatus(responseStatusOf(sending));
  if (!(failure instanceof TransportFailure) || !sending.attemptTrace?.sent) return false;
  if (failure.kind === "connection" || failure.kind === "exception") return !isProvenAppliedByStatus(sending);
  return failure.kind === "canceled" || failure.kind === "timeout";
}

/** Whether an error status does not prove that the request was not applied. After a write, 302 and 303 lead to its result. */
const leavesOutcomeOpen = (status: number) => status === 302 || status === 303 || isTransientStatus(status);

/** The status of the response proves that the write was applied. */
export const isProvenAppliedByStatus = (sending: Attempted) =>
  sending.request.appliedByStatus === true && isSuccessStatus(responseStatusOf(sending));

export const responseStatusOf = ({ attemptTrace }: Attempted) => attemptTrace?.head?.status ?? 0;

/** A failure in a few words, for log lines and the retry hook. */
export function describeFailure(failure: unknown): string {
  if (!(failure instanceof TransportFailure) || failure.kind !== "connection") return messageOf(failure);
  const { network, cause } = failure;
  return network ? `${network.problem}: ${network.detail}` : toOneLine(messageOf(cause));
}

/** The failure of an attempt in one word, for metrics: few different values. Never throws. */
export function failureTypeForMetrics(failure: unknown): string {
  if (failure instanceof SlotExpired) return "slot expired";
  if (!(failure instanceof TransportFailure)) return "exception";
  const { kind, cause } = failure;
  // The public spelling.
  if (kind === "canceled") return "cancelled";
  if (kind !== "connection" && kind !== "exception") return kind;
  try {
    return networkFailureCode(cause) ?? String(fieldOf(cause, "name") || kind);
  } catch {
    // A getter or a Proxy of the caller's.
    return kind;
  }
}

/** The code of a network failure, such as `ECONNRESET`. That of fetch is in the cause. */
function networkFailureCode(cause: unknown): string | undefined {
  const codes = [fieldOf(cause, "code"), fieldOf(fieldOf(cause, "cause"), "code")];
  return codes.find((code): code is string => typeof code === "string");
}
