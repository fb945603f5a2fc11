import { brandErrorClass } from "./brand.js";
import { StocklotError } from "./stocklot-error.js";

/**
 * There is no usable response: the connection failed or was lost, a time limit passed ({@link TimeoutError}), or the
 * client is closed ({@link ClientClosedError}). `cause` is the reason.
 */
export class ConnectionError extends StocklotError {
  static {
    brandErrorClass(ConnectionError, "ConnectionError");
  }
}

/** How the time of a call was spent, in ms. */
export interface TimeSpent {
  /** Waiting for a slot of the rate limit, or for a token, in ms. */
  waitingMs: number;
  /** Waiting because of a pause after a 429, in ms. */
  pausedMs: number;
  /** Waiting between two attempts, in ms. */
  backoffMs: number;
  /** From sending a request to the head of its response, in ms. */
  sendingMs: number;
  /** Reading bodies, in ms. */
  readingMs: number;
}

/**
 * A time limit passed: `timeoutMs` or `totalTimeoutMs`. `cause` is the last failure before that, if there was one; the
 * 429 that paused the client counts as one.
 */
export class TimeoutError extends ConnectionError {
  static {
    brandErrorClass(TimeoutError, "TimeoutError");
  }

  /** The option whose limit passed: `timeoutMs` for one attempt, `totalTimeoutMs` for the whole call. */
  readonly clock: "timeoutMs" | "totalTimeoutMs";
  /** How the time was spent. */
  readonly spent: TimeSpent;
  /** Set if the call waited for a slot of the rate limit: when one is expected to be free, in ms from the failure. */
  readonly retryAfterMs?: number;

  constructor(
    message: string,
    init: {
      clock: "timeoutMs" | "totalTimeoutMs";
      spent: Readonly<TimeSpent>;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    },
  ) {
    super(message, init);
    this.clock = init.clock;
    this.spent = { ...init.spent };
    if (init.retryAfterMs !== undefined) this.retryAfterMs = init.retryAfterMs;
  }
}

/** The client was closed before the call, or while the call waited. A retry with this client fails, too. */
export class ClientClosedError extends ConnectionError {
  static {
    brandErrorClass(ClientClosedError, "ClientClosedError");
  }
}
