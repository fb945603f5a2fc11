/** How the body reaches the client; anything but `whole` is due to a fault. */
export type ResponseDelivery =
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
  readonly delivery: ResponseDelivery;
}

const JSON_CONTENT_TYPE_HEADERS = { "content-type": "application/json; charset=utf-8" };
const TEXT_CONTENT_TYPE_HEADERS = { "content-type": "text/plain; charset=utf-8" };
const HTML_CONTENT_TYPE_HEADERS = { "content-type": "text/html; charset=utf-8" };
const WHOLE_DELIVERY: ResponseDelivery = { kind: "whole" };

/** A response whose body is JSON already. */
export function serializedJsonResponse(
  status: number,
  body: string | Uint8Array,
  headers?: Readonly<Record<string, string>>,
): SandboxResponse {
  return {
    status,
    headers: headers ? { ...JSON_CONTENT_TYPE_HEADERS, ...headers } : JSON_CONTENT_TYPE_HEADERS,
    body,
    delivery: WHOLE_DELIVERY,
  };
}

export function jsonResponse(
  status: number,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
): SandboxResponse {
  return serializedJsonResponse(status, JSON.stringify(body) ?? "", headers);
}

export function textResponse(status: number, body: string): SandboxResponse {
  return { status, headers: TEXT_CONTENT_TYPE_HEADERS, body, delivery: WHOLE_DELIVERY };
}

export function htmlResponse(status: number, body: string): SandboxResponse {
  return { status, headers: HTML_CONTENT_TYPE_HEADERS, body, delivery: WHOLE_DELIVERY };
}

export function emptyResponse(status: number): SandboxResponse {
  return { status, headers: {}, body: "", delivery: WHOLE_DELIVERY };
}

/** How many bytes of a truncated body are sent: half of it, or as many as the rule allows, but never all. */
export function truncatedBodyLength(length: number, wanted = Math.floor(length / 2)): number {
  return Math.max(0, Math.min(wanted, length - 1));
}

const encoder = new TextEncoder();

export function bodyToBytes(body: string | Uint8Array): Uint8Array {
  return typeof body === "string" ? encoder.encode(body) : body;
}
