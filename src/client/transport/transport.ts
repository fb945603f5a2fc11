import type { Cancellation } from "../../shared/time/cancellation.js";
import { describeNetworkFailure, type NetworkFailure } from "./network-failure.js";

export interface ResponseHead {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
}

/** What is known of one attempt so far. Times are those of `performance.now()`, except `sentAt`. */
export interface AttemptTrace {
  readonly startedAt: number;
  /** When it started, in ms since the epoch. */
  readonly sentAt: number;
  /** How far the service's clock was ahead then, at least, in ms; `undefined` if that was not known. */
  readonly clockAheadMs: number | undefined;
  /** Whether any of the request may have been sent. */
  sent: boolean;
  /** When the head of the response was received. */
  headAt: number | undefined;
  head: ResponseHead | undefined;
  /** How long it took; 0 until it has ended. */
  durationMs: number;
}

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
  cancellation: Cancellation;
  trace: AttemptTrace;
  /** Called synchronously right before the first byte is sent. If it throws, nothing is sent. */
  assertMaySend: () => void;
}

/** A response, read to its end. */
export interface WireResponse extends ResponseHead {
  /** The body, decompressed; of an error response, its beginning. */
  body: Uint8Array;
}

export const isSuccessStatus = (status: number) => status >= 200 && status < 300;

/** Thrown by a transport if there is no response. An "exception" is not known to be a network failure. */
export class TransportFailure extends Error {
  /** What a failed connection means, if its cause is known. */
  readonly network: NetworkFailure | undefined;

  constructor(
    readonly kind: "connection" | "exception" | "timeout" | "canceled" | "too large" | "undecodable",
    cause?: unknown,
  ) {
    super(kind, { cause });
    this.network = kind === "connection" ? describeNetworkFailure(cause) : undefined;
  }
}

/** One request and its response, over any transport. */
export interface Exchange {
  ended: boolean;
  /** Stops the request on the wire. */
  cancel: (() => void) | undefined;
  /** The head of the response was received; `encoding` is the content coding of the chunks to come. */
  receiveHead(status: number, headers: Record<string, string>, encoding?: string): void;
  receiveChunk(chunk: Uint8Array): void;
  complete(): void;
  fail(kind: TransportFailure["kind"], cause?: unknown): void;
  /** Fails with anything that was thrown: a network failure, or an exception of code. */
  failWith(cause: unknown): void;
}

/** Sends one request, and reports its progress and outcome to the exchange. A rejection fails the exchange. */
export type WireSender = (request: WireRequest, exchange: Exchange) => Promise<void>;

/** What sends the requests, for a bug report. */
export interface TransportInfo {
  name: string;
  /** The proxy of the environment that applies to the service, without credentials, and its variable. */
  proxy?: string | undefined;
  /** The TLS version of the last connection. */
  tls?: string | undefined;
}

export interface Transport {
  readonly info: TransportInfo;
  readonly send: WireSender;
  /** Closes connections of its own. */
  close(): Promise<void>;
}
