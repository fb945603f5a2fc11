import { messageOf } from "../errors/message-of.js";
import { retryAfterMs } from "./retry-after.js";
import type { Outcome } from "./retry-policy.js";
import { TransportFailure, type WireResponse } from "./transport.js";

/** Thrown where the service answered with a status that is no success. */
export class Refusal extends Error {
  constructor(
    readonly response: WireResponse,
    /** The wait that the service asked for, or for a 429 the pause that was begun. */
    readonly waitMs: number | undefined,
  ) {
    super(`HTTP ${response.status}`);
  }
}

/** A failure as the retry policy sees it; `undefined` for one that no retry can mend. */
export function outcomeOf(failure: unknown): Outcome | undefined {
  if (failure instanceof Refusal) {
    const { status, headers } = failure.response;
    return { kind: "status", status, retryAfterMs: retryAfterMs(headers, Date.now()) };
  }
  if (
    failure instanceof TransportFailure &&
    (failure.reason.kind === "connection" || failure.reason.kind === "timeout")
  ) {
    return { kind: "no answer", sent: failure.sent };
  }
  return undefined;
}

/** A failure in a few words, for log lines and the retry hook. */
export function describeFailure(failure: Error): string {
  if (!(failure instanceof TransportFailure)) return failure.message;
  const { reason } = failure;
  if (reason.kind !== "connection") return reason.kind;
  return messageOf(reason.cause);
}

/**
 * An error answer whose body was cut, came too slowly, or cannot be read still is that answer: its status says all that
 * the policy needs.
 */
export function answeredAnyway(failure: unknown): WireResponse | undefined {
  if (!(failure instanceof TransportFailure) || failure.reason.kind === "ended" || !failure.head) return undefined;
  if (isSuccess(failure.head.status)) return undefined;
  return { ...failure.head, body: Buffer.alloc(0), timing: failure.timing };
}

export const isSuccess = (status: number) => status >= 200 && status < 300;
