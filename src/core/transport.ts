import type { Lifetime } from "../time/lifetime.js";

/** A request, ready to be sent. */
export interface WireRequest {
  method: string;
  /** Path and query behind the base URL. */
  target: string;
  headers: Record<string, string>;
  body: string | undefined;
  /** One attempt, from sending to the last byte of the body. */
  timeoutMs: number;
  maxResponseBytes: number;
  lifetime: Lifetime;
}

/** An answer, read to its end. */
export interface WireResponse {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** The body, decompressed. */
  body: Buffer;
  timing: Timing;
}

/** When an exchange began, and when the head of its answer came, on the clock of `performance.now()`. */
export interface Timing {
  startedAt: number;
  headAt?: number | undefined;
}

/** Why there is no answer. */
export type TransportReason =
  | { kind: "connection"; cause: unknown }
  | { kind: "timeout" }
  | { kind: "ended" }
  | { kind: "too large" }
  | { kind: "undecodable"; cause: unknown };

/** Thrown by a transport. */
export class TransportFailure extends Error {
  constructor(
    readonly reason: TransportReason,
    /** Whether any of the request may have left. */
    readonly sent: boolean,
    /** The head of the answer, if it came. */
    readonly head: { status: number; headers: Record<string, string> } | undefined,
    readonly timing: Timing,
  ) {
    super(reason.kind);
  }
}

/** Sends one request, once. */
export interface Transport {
  send(request: WireRequest): Promise<WireResponse>;
  /** Closes connections of its own. */
  close(): Promise<void>;
}
