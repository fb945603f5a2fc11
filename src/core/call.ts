import type { TimeSpent } from "../errors/index.js";
import type { SlotRequest, WaitEstimate } from "../limiter/rate-limiter.js";
import type { Cancellation } from "../time/cancellation.js";
import { now } from "../time/timer.js";
import type { RequestOptions } from "./request/options.js";
import type { Payload, Query } from "./request/payload.js";
import type { RetrySettings, RetryState } from "./retry-policy.js";
import type { CallIdentity } from "./telemetry/events.js";
import type { AttemptTrace, WireResponse } from "./transport/transport.js";

/** A request as the resources describe it. */
export interface CallRequest<T> {
  method: string;
  /** Relative to the base URL, encoded. */
  path: string;
  query?: Query | undefined;
  /** Sent as JSON, or as a form where it is one. */
  body?: unknown;
  read: ResponseReader<T>;
  /** How urgent the call is, if not as usual: writes before reads. */
  priority?: SlotRequest["priority"] | undefined;
  /** A further page of an iteration. */
  bulk?: boolean | undefined;
  /** A success status alone tells that the write was applied, also when the connection breaks within the body. */
  appliedByStatus?: boolean | undefined;
  /** What the caller can do to learn whether a write of unknown outcome was applied: a sentence for its error. */
  recoveryHint?: string | undefined;
  /** The request for a token: needs none itself. */
  isTokenRequest?: boolean | undefined;
}

/** A response with a success status, the call that it belongs to, and how strictly it is validated. */
export interface ResponseContext {
  readonly response: WireResponse;
  readonly call: Call;
  readonly validation: ValidationMode;
}

/** Returns what the caller of a method receives for a response with a success status. */
export type ResponseReader<T> = (context: ResponseContext) => T | Promise<T>;

/** What happens if a response is not what the service documents: an error, a warning or nothing. */
export interface ValidationMode {
  mode: "error" | "warn" | "off";
  warn(message: string): void;
}

/** The settings of one call: those of the client, with those of the request over them. */
export interface CallSettings {
  timeoutMs: number;
  retry: RetrySettings;
  headers: Record<string, string>;
  /** Told of the final answer. */
  onResponse?: RequestOptions["onResponse"];
}

const IDEMPOTENT_METHODS = new Set(["PUT", "DELETE"]);

/** The ES module and the CommonJS copy of the package share the channels of a process, so each counts from elsewhere. */
let lastCallId = Math.floor(Math.random() * 1e6) * 1e9;

/** A call under way. */
export class Call implements RetryState {
  readonly id: number;
  readonly startedAt = now();
  /** The same in ms since the epoch. */
  readonly startedAtEpoch = Date.now();
  readonly spent: TimeSpent = { waitingMs: 0, pausedMs: 0, backoffMs: 0, sendingMs: 0, readingMs: 0 };
  /** How often the request was sent. */
  attempts = 0;
  retries = 0;
  rateLimitRetries = 0;
  authRetries: number;
  /** When the request was last sent, in ms since the epoch. */
  sentAt = 0;
  /** An attempt was sent whose effect is not known. */
  mayHaveBeenApplied = false;
  /** The request is on its way, or its response is being read: closing the client lets it end. */
  inFlight = false;
  /** The caller's code that checks the response. */
  pendingValidation: Promise<unknown> | undefined;
  /** The exchange that was begun last. */
  attemptTrace: AttemptTrace | undefined;
  /** The failure of the attempt before, as an error for the caller. */
  lastError: unknown;
  /** The place in the queue that the call had first. */
  arrival: number | undefined;
  /** What the call waits for, or waited for last, before it is sent. */
  waitingFor: "token" | "slot" = "slot";
  /** Since when it waits for that, by the clock of the long waits. */
  waitingSince = 0;
  /** No earlier does that wait end, as far as is known. */
  expectedAt = 0;
  /** If its time was up before it was sent: what it would still have had to wait for. */
  unmetWait: WaitEstimate | undefined;

  constructor(
    readonly request: Omit<CallRequest<unknown>, "read">,
    readonly payload: Payload,
    readonly settings: CallSettings,
    readonly cancellation: Cancellation,
  ) {
    lastCallId += 1;
    this.id = lastCallId;
    // A fresh token cannot help where one is asked for.
    this.authRetries = request.isTokenRequest ? 1 : 0;
  }

  /** What all its events tell. */
  get identity(): CallIdentity {
    return { call: this.id, method: this.request.method, path: this.request.path };
  }

  /** Whether the service ends in the same state when it gets the request twice, by the semantics of HTTP. */
  get isIdempotent(): boolean {
    return !this.isWrite || IDEMPOTENT_METHODS.has(this.request.method);
  }

  get priority(): SlotRequest["priority"] {
    return this.request.priority ?? (this.isWrite ? "high" : "normal");
  }

  /** Whether the request changes something. */
  get isWrite(): boolean {
    return this.request.method !== "GET" && !this.request.isTokenRequest;
  }

  /** Method and path, for messages. */
  get label(): string {
    return `${this.request.method} ${this.request.path}`;
  }

  /** A request is sent now. */
  beginAttempt(): AttemptTrace {
    this.attempts += 1;
    this.sentAt = Date.now();
    this.attemptTrace = { startedAt: now(), sent: false, headAt: undefined, head: undefined };
    return this.attemptTrace;
  }

  /** Waits for the caller's code that checks the response, which may never settle. */
  async awaitValidation<T>(validation: Promise<T>): Promise<T> {
    this.pendingValidation = validation;
    try {
      return await this.cancellation.race(validation);
    } finally {
      this.pendingValidation = undefined;
    }
  }

  endAttempt({ startedAt, headAt = now() }: AttemptTrace): void {
    this.spent.sendingMs += headAt - startedAt;
    this.spent.readingMs += now() - headAt;
  }
}
