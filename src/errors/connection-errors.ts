import { brandErrorClass } from "./brand.js";
import { StocklotError } from "./stocklot-error.js";

/**
 * There is no usable response: the connection failed or broke, time ran out ({@link TimeoutError}), or the client is closed
 * ({@link ClientClosedError}). `cause` is the reason.
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

/** Time ran out. `cause` is the last failure before that, if there was one: also the 429 that paused the client. */
export class TimeoutError extends ConnectionError {
  static {
    brandErrorClass(TimeoutError, "TimeoutError");
  }

  /** The option that set the limit: of one attempt, or of the whole call. */
  readonly clock: "timeoutMs" | "totalTimeoutMs";
  /** How the time was spent. */
  readonly spent: TimeSpent;
  /** If a slot of the rate limit was missing: when one is expected, in ms from the failure. */
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

/** The client was closed before the call, or while the call waited. Retrying with this client cannot help. */
export class ClientClosedError extends ConnectionError {
  static {
    brandErrorClass(ClientClosedError, "ClientClosedError");
  }
}
