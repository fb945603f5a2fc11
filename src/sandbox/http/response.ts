/** How the body reaches the client; anything but `whole` is due to a fault. */
export type Delivery =
  | { readonly kind: "whole" }
  | { readonly kind: "drop" }
  | { readonly kind: "hang" }
  | { readonly kind: "slow"; readonly delayMs: number; readonly chunkBytes: number }
  | { readonly kind: "truncated"; readonly bytes: number | undefined };

/** A response, before an adapter translates it for its transport. */
export interface SandboxResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** A string, or its UTF-8 bytes. */
  readonly body: string | Uint8Array;
  readonly delivery: Delivery;
}

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };
const TEXT_TYPE = { "content-type": "text/plain; charset=utf-8" };
const HTML_TYPE = { "content-type": "text/html; charset=utf-8" };
const WHOLE: Delivery = { kind: "whole" };

/** A response whose body is JSON already. */
export function rawJsonResponse(
  status: number,
  body: string | Uint8Array,
  headers?: Readonly<Record<string, string>>,
): SandboxResponse {
  return { status, headers: headers ? { ...JSON_TYPE, ...headers } : JSON_TYPE, body, delivery: WHOLE };
}

export function jsonResponse(
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): SandboxResponse {
  return rawJsonResponse(status, JSON.stringify(body) ?? "", headers);
}

export function textResponse(status: number, body: string): SandboxResponse {
  return { status, headers: TEXT_TYPE, body, delivery: WHOLE };
}

export function htmlResponse(status: number, body: string): SandboxResponse {
  return { status, headers: HTML_TYPE, body, delivery: WHOLE };
}

export function emptyResponse(status: number): SandboxResponse {
  return { status, headers: {}, body: "", delivery: WHOLE };
}

/** How many bytes of a truncated body are sent: half of it, or as many as the rule allows, but never all. */
export function truncatedLength(length: number, wanted = Math.floor(length / 2)): number {
  return Math.max(0, Math.min(wanted, length - 1));
}

const encoder = new TextEncoder();

export function toBytes(body: string | Uint8Array): Uint8Array {
  return typeof body === "string" ? encoder.encode(body) : body;
}
