import type { RateLimitSnapshot } from "../limiter/rate-limiter.js";

/** The fields that all events of a call have. */
export interface CallEvent {
  /** HTTP method. */
  method: string;
  /** Relative to `baseUrl`, encoded, without the query. */
  path: string;
}

/** The event that each hook receives. */
export interface HookEvents {
  /** A request is about to be sent. */
  request: CallEvent & {
    /** Number of the attempt, from 1. */
    attempt: number;
  };
  /** A response was received, whatever its status. */
  response: CallEvent & {
    /** Number of the attempt, from 1. */
    attempt: number;
    /** HTTP status. */
    status: number;
    /** Time from sending to the last byte, in ms. */
    durationMs: number;
  };
  /** A call will be retried. */
  retry: CallEvent & {
    /** Number of the attempt that follows. */
    attempt: number;
    /** Why the call is retried: a status such as `HTTP 503`, or a connection failure. */
    reason: string;
  };
  /** The service responded with 429, and the client pauses. */
  rateLimited: CallEvent & {
    /** Length of the pause in ms. */
    delayMs: number;
    /** End of the pause, in ms since the epoch. */
    pausedUntil: number;
  };
  /** The client has a new token. */
  token: {
    /** When it expires, in ms since the epoch. */
    expiresAt: number;
  };
  /** A call queues for a slot and is expected to wait for 1.5 s or more, or a pause begins while it waits. */
  waiting: CallEvent & {
    /** `"limit"`: all slots of `rateLimit` are in use. `"pause"`: all calls wait for the end of the pause after a 429. */
    reason: "limit" | "pause";
    /** The shortest time that the call is expected to wait, in ms. */
    expectedMs: number;
  };
}

/**
 * Callbacks that observe a client: an object, or an instance of a class. Each callback is called with one plain object.
 * If a callback throws or its promise rejects, the error is logged and has no other effect.
 */
export type Hooks = { [Name in keyof HookEvents]?: ((event: HookEvents[Name]) => void) | undefined };

/** Receives log lines. Each line is one string. `console` and pino loggers can be used. */
export interface Logger {
  /** Called for each request and each response. */
  debug(message: string): void;
  /** Called when a call is retried, or has to wait. */
  info(message: string): void;
  /** Called when the client pauses after a 429, and for unexpected events that do not make a call fail. */
  warn(message: string): void;
  /** Called when one of your callbacks throws. */
  error(message: string): void;
}

/**
 * The state of a client, which an instrumentation may read at any time. Refer to it weakly, so that the client can be
 * collected.
 */
export interface ClientState {
  /** The address of the service, without a slash at its end. */
  readonly url: string;
  /** Clients with the same limiter share slots and queue. */
  readonly limiter: { snapshot(): RateLimitSnapshot };
  readonly isClosed: boolean;
}

/** A call as an instrumentation sees it. */
export interface CallInfo extends CallEvent {
  /** The whole URL, without the query. */
  url: string;
  client: ClientState;
}

/** How an attempt has ended. */
export interface AttemptEnd {
  /** HTTP status; `undefined` if there was no response. */
  status: number | undefined;
  /**
   * Why there was no response: `timeout`, `aborted`, `too large`, `undecodable`, the code of the network failure, such as
   * `ECONNRESET`, or the name of the error.
   */
  error: string | undefined;
}

/** How a call has ended. */
export interface CallEnd {
  /** The status of the last response; `undefined` if there was none. */
  status: number | undefined;
  /** The name of the error that the caller receives, such as `NotFoundError`; `undefined` after a success. */
  error: string | undefined;
}

/**
 * How an instrumentation observes one call. It can change the async context, but it can neither prevent nor repeat a request:
 * however often and whenever it calls `run`, the request is sent once.
 */
export interface CallObservation {
  /** Wraps the whole call. */
  within(run: () => void): void;
  /** Wraps an attempt. `setHeader` adds a header such as `traceparent` before `run` is called. It cannot replace a header. */
  attempt(
    event: HookEvents["request"],
    setHeader: (name: string, value: string) => void,
    run: () => Promise<AttemptEnd>,
  ): void;
  /** Called with the time that an attempt has waited for its slot, in ms. */
  waited(ms: number): void;
  retry(event: HookEvents["retry"]): void;
  paused(event: HookEvents["rateLimited"]): void;
  ended(end: CallEnd): void;
}

/** A method that is one call for its caller, and sends several requests. */
export interface MethodInfo {
  /** Name of the method, such as `inventory.getStockLevel`. */
  name: string;
  client: ClientState;
}

/** How an instrumentation observes such a method. Each of its requests is observed, too. */
export type MethodObservation = Pick<CallObservation, "within" | "ended">;

/** Observes all clients of the process. */
export interface Instrumentation {
  /** Returns true if nothing would be recorded or propagated. Asked at each call. */
  isIdle?(): boolean;
  /** Called when a call begins. Returns `undefined` if the call is not observed. */
  startCall(info: CallInfo): CallObservation | undefined;
  /** Called when a method of several requests begins. Returns `undefined` if the method is not observed. */
  startMethod?(info: MethodInfo): MethodObservation | undefined;
}
