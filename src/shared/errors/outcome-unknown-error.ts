import { brandErrorClasses } from "./brand.js";
import { redactCredentials, redactData } from "./redact.js";
import { StocklotError } from "./stocklot-error.js";

/** A write as it was sent. */
export interface SentRequest {
  /** `POST`, or the method that `client.request` was called with. */
  method: string;
  /** Relative to `baseUrl`, encoded, without the query. */
  path: string;
  /** The query's parameters, client secrets and tokens redacted; left out if there are none. */
  query?: Record<string, string>;
  /** The body that was sent as JSON, with client secrets and tokens redacted; left out if there was none. */
  body?: unknown;
  /** When it was sent, in ms since the epoch. */
  sentAt: number;
  /**
   * How far the service's clock was ahead of this machine's clock then, at least, in ms; left out if that was not
   * known.
   */
  clockAheadMs?: number;
  /**
   * For a receipt: the highest record number of a lot that this client had seen when the receipt was sent; left out if
   * the client had seen no lot. The lot of the receipt has a higher number.
   */
  lastRecNo?: number;
}

/**
 * A write was sent, but the outcome is unknown: the response was lost, arrived too late, or was a 5xx. Check whether
 * the write was applied before you resend it; otherwise it may be applied twice. `cause` is the failure, or the reason
 * of the abort.
 */
export class OutcomeUnknownError extends StocklotError {
  /** The request that was sent, and when it was sent. */
  readonly request: SentRequest;

  /** The status of the response that proves nothing; left out if there was none. */
  readonly status?: number;

  /** `isReason`: the cause is the reason of the caller's signal, which stays as it is. */
  constructor(
    message: string,
    init: { request: SentRequest; cause: unknown; isReason?: boolean; status?: number | undefined },
  ) {
    super(message, { ...init, applied: "unknown" });
    // `cause` always exists, even if a signal was aborted without a reason.
    this.cause = init.isReason ? init.cause : this.cause;
    // Values of client headers are not redacted here: they may be ordinary words, and redacting these would change the
    // data of the write.
    this.request = redactData(init.request, redactCredentials);
    if (init.status !== undefined) this.status = init.status;
  }
}

brandErrorClasses({ OutcomeUnknownError });
