import type { Lifetime } from "../../shared/time/abort.js";
import type { Priority } from "../limiter/rate-limiter.js";
import type { CallObserver } from "../observe/observer.js";
import type { WireResponse } from "../transport/exchange.js";
import { type EncodedRequest, encodeRequest, type RequestParts } from "./payload.js";
import type { RequestOptions } from "./request-options.js";
import type { RetrySettings } from "./retry-options.js";

/** A request as the resources describe it. */
export interface ApiRequest<T> extends RequestParts {
  /** Returns what the caller of a method receives for a success. */
  read: ResponseReader<T>;
  /** The priority if the caller sets none. By default, "high" for writes and "normal" for reads. */
  priority?: Priority | undefined;
  /** Why a response with a success status is no success. */
  describeFalseSuccess?: ((response: WireResponse) => string | undefined) | undefined;
  /** A sentence for the error of a write with unknown outcome: how the caller can check whether it was applied. */
  recoveryHint?: string | undefined;
  /** Called with the error of each attempt that failed. */
  onFailedAttempt?: ((error: unknown) => void) | undefined;
  /** The highest record number that was seen before an attempt. */
  lastRecNo?: (() => number | undefined) | undefined;
  /** The SKU of the item that a write changes. Without a SKU, the write may change any item. */
  shortID?: string | undefined;
  /** The token request, which needs no token itself. */
  isTokenRequest?: boolean | undefined;
}

/** A response with a success status, the call that it belongs to, and how strictly it is validated. */
export interface ResponseContext {
  readonly response: WireResponse;
  readonly call: Call;
  /** When the request was sent, in ms since the epoch. */
  readonly sentAt: number;
  readonly validation: ResponseValidation;
}

export type ResponseReader<T> = (context: ResponseContext) => T | Promise<T>;

/** The reaction to a response that is not what the service documents: an error, a warning, or none. */
export interface ResponseValidation {
  mode: "error" | "warn" | "off";
  warn(message: string): void;
}

/** The settings of one call. Settings of the request take precedence over settings of the client. */
export interface CallSettings {
  timeoutMs: number;
  maxResponseBytes: number;
  retry: RetrySettings;
  headers: Record<string, string>;
  priority?: Priority | undefined;
  onResponse?: RequestOptions["onResponse"];
  beforeSend?: RequestOptions["beforeSend"];
  /** Called right before the first byte of each attempt. */
  onSend?: (() => void) | undefined;
}

/** One request of a caller, with all its attempts. A call does not change; `Progress` says how far it has come. */
export class Call {
  /** Method and path, the start of every message. */
  readonly label: string;
  /** The fields that all events of the call have. */
  readonly identity: Readonly<{ method: string; path: string }>;
  readonly payload: EncodedRequest;
  /** Whether the request changes something. */
  readonly isWrite: boolean;
  /** Whether a second, identical request leaves the service in the same state, by the semantics of HTTP. */
  readonly mayRepeat: boolean;

  constructor(
    readonly request: Omit<ApiRequest<unknown>, "read">,
    readonly settings: CallSettings,
    readonly lifetime: Lifetime,
    readonly observer: CallObserver,
  ) {
    const { method, path, isTokenRequest } = request;
    this.label = `${method} ${path}`;
    this.identity = { method, path };
    this.payload = encodeRequest(request);
    this.isWrite = method !== "GET" && !isTokenRequest;
    this.mayRepeat = !this.isWrite || method === "PUT" || method === "DELETE";
  }

  /** The caller's priority. By default, writes come first, then single reads, then further pages. */
  get priority(): Priority | "token" {
    if (this.request.isTokenRequest) return "token";
    return this.settings.priority ?? this.request.priority ?? (this.isWrite ? "high" : "normal");
  }
}
