/** How the body reaches the client; anything but `whole` is the work of a fault. */
export type Delivery =
  | { readonly kind: "whole" }
  | { readonly kind: "drop" }
  | { readonly kind: "hang" }
  | { readonly kind: "slow"; readonly delayMs: number; readonly chunkBytes: number }
  | { readonly kind: "truncated"; readonly bytes: number | undefined };

/** An answer, before one of the doors has put it into the form of its transport. */
export interface SandboxResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text, or the same as UTF-8. */
  readonly body: string | Buffer;
  readonly delivery: Delivery;
}

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };
const TEXT_TYPE = { "content-type": "text/plain; charset=utf-8" };
const HTML_TYPE = { "content-type": "text/html; charset=utf-8" };
const WHOLE: Delivery = { kind: "whole" };

/** An answer whose body is JSON already. */
export function rawJsonResponse(
  status: number,
  body: string | Buffer,
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

/** How much of a body is sent: half of it, or as much as the rule says, but never all. */
export function truncatedLength(length: number, wanted = Math.floor(length / 2)): number {
  return Math.max(0, Math.min(wanted, length - 1));
}

export function toBytes(body: string | Buffer): Buffer {
  return typeof body === "string" ? Buffer.from(body) : body;
}
