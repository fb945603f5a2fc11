import { brandErrorClasses } from "./brand.js";
import { StocklotError } from "./stocklot-error.js";

/**
 * There is no usable response: the connection failed or was lost, a time limit passed ({@link TimeoutError}), or the
 * client is closed ({@link ClientClosedError}). `cause` is the reason.
 */
export class ConnectionError extends StocklotError {}

/**
 * A time limit passed: `timeoutMs` or `totalTimeoutMs`. `cause` is the last failure before that, if there was one; the
 * 429 that paused the client counts as one.
 */
export class TimeoutError extends ConnectionError {
  /** The option whose limit passed: `timeoutMs` for one attempt, `totalTimeoutMs` for the whole call. */
  readonly clock: "timeoutMs" | "totalTimeoutMs";
  /** Set if the call waited for a slot of the rate limit: when one is expected to be free, in ms from the failure. */
  readonly retryAfterMs?: number;

  constructor(
    message: string,
    init: {
      clock: "timeoutMs" | "totalTimeoutMs";
      retryAfterMs?: number | undefined;
      cause?: unknown;
      applied?: StocklotError["applied"] | undefined;
    },
  ) {
    super(message, init);
    this.clock = init.clock;
    if (init.retryAfterMs !== undefined) this.retryAfterMs = init.retryAfterMs;
  }
}

/** The client was closed before the call, or while the call waited. A retry with this client fails, too. */
export class ClientClosedError extends ConnectionError {}

brandErrorClasses({ ConnectionError, TimeoutError, ClientClosedError });
