/** What all events of one call have in common. */
export interface CallIdentity {
  /** Number of the call: the same in all its events, and greater than that of every earlier call of the process. */
  call: number;
  /** HTTP method. */
  method: string;
  /** Relative to `baseUrl`, encoded, without the query. */
  path: string;
}

/** A call starts: it may have to wait for a token and a slot before it is sent. */
export interface StartEvent extends CallIdentity {
  /** The whole address, without the query. */
  url: string;
}

/** A request is about to be sent. */
export interface RequestEvent extends CallIdentity {
  /** Number of the attempt, from 1. In a `retry` event: of the attempt that follows. */
  attempt: number;
}

/** A response was received, whatever its status. */
export interface ResponseEvent extends RequestEvent {
  /** HTTP status. */
  status: number;
  /** From sending to the last byte, in ms. */
  durationMs: number;
}

/** A call will be retried. */
export interface RetryEvent extends RequestEvent {
  /** Wait before that, in ms; the pause after a 429 is not counted here. */
  delayMs: number;
  /** Why: a status such as `HTTP 503`, or a connection failure. */
  reason: string;
}

/** A call has ended, with or without success. */
export interface EndEvent extends CallIdentity {
  /** When it started, in ms since the epoch. */
  startedAt: number;
  /** The whole call, in ms: waiting, attempts and back-offs. */
  durationMs: number;
  /** How often it was sent. */
  attempts: number;
  /** The status of the response to the last attempt; `undefined` if there was none. */
  status: number | undefined;
  /**
   * The name of the error that the caller received, such as `NotFoundError`; `undefined` after a success. If a signal was
   * aborted with a value without a name, its type, such as `string`.
   */
  error: string | undefined;
}

/** The service responded with 429, and the client pauses. */
export interface RateLimitedEvent extends CallIdentity {
  /** Length of the pause in ms. */
  delayMs: number;
  /** End of the pause, in ms since the epoch. */
  pausedUntil: number;
}

/** A call has been waiting for 1.5 s to be sent. Reported once for each wait. */
export interface WaitingEvent extends CallIdentity {
  /**
   * What it waits for. `"limit"`: a slot, since all slots of `rateLimit` are in use. `"pause"`: the end of the pause
   * after a 429. `"token"`: the access token.
   */
  reason: "limit" | "pause" | "token";
  /** How long it has waited, in ms. */
  waitedMs: number;
  /** How long it is expected to wait from now, in ms; `undefined` if that is not known. */
  expectedMs: number | undefined;
}

/** The client has a new token. */
export interface TokenEvent {
  /** When it expires, in ms since the epoch. */
  expiresAt: number;
}

/** What hooks receive, by the name of the hook. */
export interface HookEvents {
  /** A request is about to be sent. */
  request: RequestEvent;
  /** A response was received. */
  response: ResponseEvent;
  /** A call will be retried. */
  retry: RetryEvent;
  /** The service responded with 429, and the client pauses. */
  rateLimited: RateLimitedEvent;
  /** The client has a new token. */
  token: TokenEvent;
  /** A call has been waiting for 1.5 s to be sent. */
  waiting: WaitingEvent;
}

/** Callbacks that observe a client. If one throws or its promise rejects, that is logged and changes nothing. */
export type Hooks = { [Name in keyof HookEvents]?: ((event: HookEvents[Name]) => void) | undefined };

/** All events: those of the hooks, and the start and end of each call. */
export interface Events extends HookEvents {
  start: StartEvent;
  end: EndEvent;
}

/** What the channels of `node:diagnostics_channel` carry, for all clients of the process. */
export interface DiagnosticsMessages {
  /** The steps of each call, by `type`: `start`, `request` and `response` for each attempt, `end`. */
  "stocklot:request":
    | ({ type: "start" } & StartEvent)
    | ({ type: "request" } & RequestEvent)
    | ({ type: "response" } & ResponseEvent)
    | ({ type: "end" } & EndEvent);
  /** A call will be retried. */
  "stocklot:retry": { type: "retry" } & RetryEvent;
  /** The service responded with 429, and the client pauses. */
  "stocklot:rate-limit": { type: "rateLimited" } & RateLimitedEvent;
  /** The client has a new token. */
  "stocklot:token": { type: "token" } & TokenEvent;
  /** A call has been waiting for 1.5 s to be sent. */
  "stocklot:waiting": { type: "waiting" } & WaitingEvent;
}

/** Receives log lines; `console` and pino loggers are such objects. */
export interface Logger {
  /** Each request and response. */
  debug(message: string): void;
  /** A call is retried, or has been waiting for 1.5 s to be sent. */
  info(message: string): void;
  /** A pause after a 429; anything unexpected that is no reason to fail. */
  warn(message: string): void;
  /** A callback of yours that threw. */
  error(message: string): void;
}
