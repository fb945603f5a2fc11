import type { TimeSpent } from "../../shared/errors/index.js";
import type { Cancellation } from "../../shared/time/cancellation.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import type { SlotRequest, WaitEstimate } from "../limiter/rate-limiter.js";
import type { CallIdentity } from "../observe/events.js";
import type { AttemptTrace, WireResponse } from "../transport/transport.js";
import type { AttemptJournal } from "./attempt-journal.js";
import type { EncodedRequest, Query } from "./payload.js";
import type { RequestOptions } from "./request-options.js";
import type { RetrySettings, RetryState } from "./retry-policy.js";

/** A request as the resources describe it. */
export interface CallRequest<T> {
  method: string;
  /** Relative to the base URL, encoded. */
  path: string;
  query?: Query | undefined;
  /** Sent as JSON, `URLSearchParams` as a form. */
  body?: unknown;
  read: ResponseReader<T>;
  /** By default `single`. */
  slotKind?: SlotRequest["slotKind"] | undefined;
  /** A success status alone proves that the write was applied, even if the connection breaks within the body. */
  appliedByStatus?: boolean | undefined;
  /** Why a response with a success status is no success. */
  describeFalseSuccess?: ((response: WireResponse) => string | undefined) | undefined;
  /** A sentence for the error of a write with unknown outcome: how the caller can check whether it was applied. */
  recoveryHint?: string | undefined;
  /** The token request, which needs no token itself. */
  isTokenRequest?: boolean | undefined;
}

/** A response with a success status, the request that it belongs to, and how strictly it is validated. */
export interface ResponseContext {
  readonly response: WireResponse;
  readonly sending: Sending;
  readonly validation: ResponseValidation;
}

/** Returns what the caller of a method receives for a response with a success status. */
export type ResponseReader<T> = (context: ResponseContext) => T | Promise<T>;

/** What happens if a response is not what the service documents: an error, a warning or nothing. */
export interface ResponseValidation {
  mode: "error" | "warn" | "off";
  warn(message: string): void;
}

/** The settings of one call. Those of the request take precedence over those of the client. */
export interface CallSettings {
  timeoutMs: number;
  maxResponseBytes: number;
  retry: RetrySettings;
  headers: Record<string, string>;
  priority?: RequestOptions["priority"];
  /** Called with the final response. */
  onResponse?: RequestOptions["onResponse"];
  beforeSend?: RequestOptions["beforeSend"];
  /** Records the attempts. */
  journal?: AttemptJournal | undefined;
}

const IDEMPOTENT_METHODS = new Set(["PUT", "DELETE"]);

/** Starts at random, because the ES module and the CommonJS copy of the package share the channels of a process. */
let lastCallId = Math.floor(Math.random() * 1e6) * 1e9;

/** A call of the caller's, from its start to its result or error. It sends one request; a series sends several, one by one. */
export class Call {
  readonly id = ++lastCallId;
  readonly startedAtMs = monotonicNowMs();
  /** In ms since the epoch. */
  readonly startedAtEpochMs = Date.now();
  readonly spent: TimeSpent = { waitingMs: 0, pausedMs: 0, backoffMs: 0, sendingMs: 0, readingMs: 0 };
  /** Attempts of its requests, also those that failed before anything was sent. */
  attempts = 0;
  /** The request that was sent last. */
  lastSent: Sending | undefined;

  constructor(
    /** What the call is named after: its request, or the list of a series. */
    readonly target: { readonly method: string; readonly path: string },
    readonly settings: CallSettings,
    readonly cancellation: Cancellation,
  ) {}
}

/** One request of a call, until its response was read or its last attempt has failed. */
export class Sending implements RetryState, SlotRequest {
  /** Also those that failed before anything was sent. */
  attempts = 0;
  /** The last attempt. */
  attemptTrace: AttemptTrace | undefined;
  // How often it was retried: counted against the budgets of the retry policy, in `backOff`.
  retries = 0;
  rateLimitRetries = 0;
  authRetries: number;
  /** An earlier attempt may have been applied. */
  hasUnresolvedAttempt = false;
  /** The request is being sent or its response is being read: `close()` lets it finish. */
  inFlight = false;
  /** The client is closed: there is no further attempt. */
  isClosed = false;
  /** The validation by a schema of the caller's, which may never end. */
  pendingValidation: Promise<unknown> | undefined;
  /** The failure of the previous attempt, as an error for the caller. */
  lastError: unknown;
  /** Its place in the queue: set by the limiter, kept by later attempts, given up when it leaves without a slot. */
  arrival: number | undefined;
  /** What the request waits for, or waited for last. */
  waitingFor: "token" | "slot" = "slot";
  /** If the total time passed before the request was sent: the remaining wait. */
  unmetWait: WaitEstimate | undefined;

  constructor(
    readonly call: Call,
    readonly request: Omit<CallRequest<unknown>, "read">,
    readonly payload: EncodedRequest,
  ) {
    // A fresh token cannot help the token request.
    this.authRetries = request.isTokenRequest ? 1 : 0;
  }

  /** The fields that all its events share. */
  get identity(): CallIdentity {
    return { call: this.call.id, method: this.request.method, path: this.request.path };
  }

  get cancellation(): Cancellation {
    return this.call.cancellation;
  }

  /** Whether a second, identical request leaves the service in the same state, by the semantics of HTTP. */
  get isIdempotent(): boolean {
    return !this.isWrite || IDEMPOTENT_METHODS.has(this.request.method);
  }

  /** As the caller has set it; otherwise writes first, then single reads, then further pages. */
  get priority(): SlotRequest["priority"] {
    if (this.request.isTokenRequest) return "token";
    const { priority } = this.call.settings;
    if (priority) return priority;
    if (this.isWrite) return "high";
    return this.request.slotKind === "bulk" ? "low" : "normal";
  }

  get slotKind(): SlotRequest["slotKind"] {
    return this.call.settings.journal || this.call.settings.priority === "low"
      ? "bulk"
      : (this.request.slotKind ?? "single");
  }

  /** Whether the request changes something. */
  get isWrite(): boolean {
    return this.request.method !== "GET" && !this.request.isTokenRequest;
  }

  /** When the last attempt began, in ms since the epoch. */
  get sentAt(): number {
    return this.attemptTrace?.sentAt ?? 0;
  }

  /** Method and path, the start of every message. */
  get label(): string {
    return `${this.request.method} ${this.request.path}`;
  }

  /** The client is closed: an attempt in flight finishes, anything else ends now. */
  close(): void {
    this.isClosed = true;
    if (!this.inFlight) this.cancellation.cancel({ kind: "closed" });
  }

  beginAttempt(clockAheadMs: number | undefined): AttemptTrace {
    this.attempts += 1;
    this.inFlight = true;
    this.call.attempts += 1;
    this.call.lastSent = this;
    this.attemptTrace = {
      startedAt: monotonicNowMs(),
      sentAt: Date.now(),
      clockAheadMs,
      sent: false,
      headAt: undefined,
      head: undefined,
      durationMs: 0,
    };
    return this.attemptTrace;
  }

  /** The response is complete, or there is none. */
  endAttempt(trace: AttemptTrace): void {
    const { startedAt, headAt = monotonicNowMs() } = trace;
    const endedAt = monotonicNowMs();
    this.call.spent.sendingMs += headAt - startedAt;
    this.call.spent.readingMs += endedAt - headAt;
    trace.durationMs = endedAt - startedAt;
  }

  /** Waits for the validation by a schema of the caller's, at most as long as the call lasts. */
  async awaitValidation<T>(validation: Promise<T>): Promise<T> {
    this.pendingValidation = validation;
    try {
      return await this.cancellation.race(validation);
    } finally {
      this.pendingValidation = undefined;
    }
  }
}
