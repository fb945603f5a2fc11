/** A request is about to be sent. */
export interface RequestEvent {
  method: string;
  /** Relative to `baseUrl`, encoded, without the query. */
  path: string;
  /** 1 for the first sending of a call. */
  attempt: number;
}

/** An answer has come, whatever its status. */
export interface ResponseEvent extends RequestEvent {
  status: number;
  /** From sending to the last byte, in ms. */
  durationMs: number;
}

/** A call will be sent again. */
export interface RetryEvent extends RequestEvent {
  /** Wait before that, in ms; the pause after a 429 is not counted here. */
  delayMs: number;
  /** Why: a status such as `HTTP 503`, or a failure of the connection. */
  reason: string;
}

/** The service answered 429, and the client pauses. */
export interface RateLimitedEvent {
  method: string;
  path: string;
  /** Length of the pause in ms. */
  delayMs: number;
  /** End of the pause, in ms since the epoch. */
  pausedUntil: number;
}

/** The client has a new token. */
export interface TokenEvent {
  /** When it expires, in ms since the epoch. */
  expiresAt: number;
}

export interface HookEvents {
  request: RequestEvent;
  response: ResponseEvent;
  retry: RetryEvent;
  rateLimited: RateLimitedEvent;
  token: TokenEvent;
}

/** Callbacks that watch a client. One that throws is logged and changes nothing. */
export type Hooks = { [Name in keyof HookEvents]?: ((event: HookEvents[Name]) => void) | undefined };

/** Where log lines go; `console` and a pino logger are such objects. */
export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}
