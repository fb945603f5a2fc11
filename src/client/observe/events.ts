import type { RateLimiter, RateLimitSnapshot } from "../limiter/rate-limiter.js";

/** What an instrumentation may read of a client at any time. Hold it weakly, so that the client can be collected. */
export class ClientState {
  readonly #isClosed: () => boolean;

  constructor(
    /** Where the client sends its requests, without a slash at the end. */
    readonly baseUrl: string,
    /** Clients with the same limiter share slots and queue. */
    readonly limiter: Pick<RateLimiter, "snapshot">,
    isClosed: () => boolean,
  ) {
    this.#isClosed = isClosed;
  }

  /** Whether `close()` was called. */
  get closed(): boolean {
    return this.#isClosed();
  }

  /** The state of the rate limiter at this moment. */
  get rateLimit(): RateLimitSnapshot {
    return this.limiter.snapshot();
  }
}

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
  /** The whole URL, without the query. */
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

/** An attempt has ended without a complete response. */
export interface FailedEvent extends RequestEvent {
  /** From sending to the failure, in ms. */
  durationMs: number;
  /** HTTP status, if the response broke off after its head. */
  status: number | undefined;
  /**
   * What happened: `timeout`, `cancelled`, `too large`, `undecodable`, `slot expired`, the code of the network failure, such as
   * `ECONNRESET`, or else the name of the error.
   */
  error: string;
}

/**
 * An attempt is about to be sent. For instrumentations: a subscriber may add headers and choose the async context, while it
 * is called and not later.
 */
export interface SendingEvent extends RequestEvent {
  /** Adds a header, such as `traceparent`. One that the request has already, or that cannot be set, is left out. */
  setHeader(name: string, value: string): void;
  /** Sends the request within `run`, which must call `send` before it returns. */
  sendWithin(run: (send: () => void) => void): void;
}

/** A call begins to wait for a slot. */
export interface QueuedEvent extends RequestEvent {
  /** The client of the call. */
  client: ClientState;
}

/** A call was granted a slot. */
export interface SlotEvent extends QueuedEvent {
  /** How long it waited for the slot, in ms. */
  waitedMs: number;
}

/** A call will be retried. */
export interface RetryEvent extends RequestEvent {
  /** Wait before the retry, in ms. The pause after a 429 is not included. */
  delayMs: number;
  /** Why the call is retried: a status such as `HTTP 503`, or a connection failure. */
  reason: string;
}

/** A call has ended, with or without success. */
export interface EndEvent extends CallIdentity {
  /** When it started, in ms since the epoch. */
  startedAt: number;
  /** The whole call, in ms: waiting, attempts and back-offs. */
  durationMs: number;
  /** Attempts of its requests, also those that failed before anything was sent. */
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
  /** How long it has waited so far, in ms. */
  waitedMs: number;
  /** How much longer it is expected to wait, in ms; `undefined` if that is unknown. */
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

/**
 * Callbacks that observe a client. If one throws or its promise rejects, the error is logged and has no other effect.
 */
export type Hooks = { [Name in keyof HookEvents]?: ((event: HookEvents[Name]) => void) | undefined };

/** All events: those of the hooks, and those that only channels report. */
export interface Events extends HookEvents {
  start: StartEvent;
  queued: QueuedEvent;
  slot: SlotEvent;
  failed: FailedEvent;
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
  /** A call begins to wait for a slot, or was granted one. */
  "stocklot:slot": ({ type: "queued" } & QueuedEvent) | ({ type: "slot" } & SlotEvent);
  /** For instrumentations: an attempt is about to be sent, or has ended without a complete response. */
  "stocklot:attempt": ({ type: "sending" } & SendingEvent) | ({ type: "failed" } & FailedEvent);
  /** A run of an outbox has settled an entry. */
  "stocklot:outbox:progress": OutboxProgressEvent;
  /** A run of a mirror has ended. */
  "stocklot:mirror:run": MirrorRunEvent;
}

/** A run of an outbox has settled an entry. The counts are those of the run. */
export interface OutboxProgressEvent {
  /** Entries that the service has applied. */
  applied: number;
  /** Entries that the service has rejected. */
  rejected: number;
  /** Entries that were sent and whose outcome is unknown. */
  unknown: number;
  /** Entries that are still to be sent. */
  pending: number;
}

/** A run of a mirror has ended. */
export interface MirrorRunEvent {
  /** `full` if any list was read completely, otherwise `increment`. */
  kind: string;
  /** Duration of the run, in ms. */
  durationMs: number;
  /** The name of the error with which it ended; left out after a success. */
  error?: string | undefined;
  /** The copy of each resource after the run, by its name. */
  resources: Readonly<Partial<Record<string, MirrorCopyState>>>;
}

/** The copy of one resource. */
export interface MirrorCopyState {
  /** Number of records in the copy. */
  records: number;
  /** Age of the copy, in ms; null if the resource was never read completely. */
  lagMs: number | null;
}

/** Receives log lines; `console` and pino loggers are such objects. */
export interface Logger {
  /** Called for each request and each response. */
  debug(message: string): void;
  /** Called when a call is retried, or has been waiting for 1.5 s to be sent. */
  info(message: string): void;
  /** Called when the client pauses after a 429, and for unexpected events that do not make a call fail. */
  warn(message: string): void;
  /** Called when one of your callbacks throws. */
  error(message: string): void;
}
