import { sleep } from "../../shared/time/wait.js";

/** A request, whichever adapter received it. */
export interface SandboxRequest {
  readonly method: string;
  /** Path and query exactly as sent, for example `/api/v1/Item?key=A%2FB&type=id`. */
  readonly target: string;
  readonly headers: Headers;
  /** The whole body as a string; empty if there is none. */
  readonly body: string;
  /** Remote address, for a rate limit per address. */
  readonly address: string;
  /** Aborted when the caller has disconnected or aborted. */
  readonly signal: AbortSignal;
}

/** No network resolves this name, so a client without the sandbox's `fetch` fails instead of reaching another server. */
export const SANDBOX_ORIGIN = "https://stocklot-sandbox.test";

/** The version segment that every path begins with. */
export const SERVICE_BASE_PATH = "/api/v1";

/** Path relative to the base address, still encoded, or undefined if it is outside. */
export function pathRelativeToBase(path: string): string | undefined {
  if (!path.startsWith(SERVICE_BASE_PATH)) return undefined;
  const rest = path.slice(SERVICE_BASE_PATH.length);
  return rest === "" || rest.startsWith("/") ? rest || "/" : undefined;
}

export function splitRequestTarget(target: string): { path: string; query: URLSearchParams } {
  const [path = "", ...query] = target.split("?");
  return { path, query: new URLSearchParams(query.join("?")) };
}

/** A response, before an adapter translates it for its transport. */
export interface SandboxResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** How the body reaches the client; anything but `whole` is due to a fault. */
  readonly delivery:
    | { readonly kind: "whole" | "drop" }
    | { readonly kind: "truncated"; readonly bytes: number | undefined }
    | { readonly kind: "slow"; readonly delayMs: number; readonly chunkBytes: number };
}

/** Statuses of responses that must not have a body. */
export const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

type ResponseHeaders = SandboxResponse["headers"];

export function createResponse(
  status: number,
  body: string,
  contentType: "text/plain" | "application/json",
  headers: ResponseHeaders = {},
): SandboxResponse {
  const all = { "content-type": `${contentType}; charset=utf-8`, ...headers };
  return { status, headers: all, body, delivery: { kind: "whole" } };
}

export const jsonResponse = (status: number, body: unknown, headers?: ResponseHeaders) =>
  createResponse(status, JSON.stringify(body) ?? "", "application/json", headers);

/** The document's error object; without a code if the document has none for the status. */
export function errorResponse(
  status: number,
  error: string | undefined,
  message: string,
  { details, headers }: { details?: FieldErrors | undefined; headers?: ResponseHeaders } = {},
): SandboxResponse {
  return jsonResponse(status, { statusCode: status, error, message, ...(details && { details }) }, headers);
}

export const DROPPED_RESPONSE: SandboxResponse = { status: 0, headers: {}, body: "", delivery: { kind: "drop" } };

/**
 * Returns the pieces in which a body is sent. A slow body has a pause before each piece. A truncated body is half of
 * the body, or as many bytes as the rule allows, but never the whole body. Ends when the signal is aborted.
 */
export async function* bodyPieces(
  { body, delivery }: SandboxResponse,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const bytes = bodyToBytes(body);
  if (delivery.kind === "truncated") {
    const wanted = delivery.bytes ?? Math.floor(bytes.length / 2);
    yield bytes.subarray(0, Math.max(0, Math.min(wanted, bytes.length - 1)));
  } else if (delivery.kind === "slow") {
    for (let position = 0; position < bytes.length; position += delivery.chunkBytes) {
      if (delivery.delayMs > 0) await sleep(delivery.delayMs, signal);
      if (signal.aborted) return;
      yield bytes.subarray(position, position + delivery.chunkBytes);
    }
  } else delivery.kind satisfies "whole" | "drop";
}

const encoder = new TextEncoder();

export const bodyToBytes = (body: SandboxResponse["body"]): Uint8Array =>
  typeof body === "string" ? encoder.encode(body) : body;

export const STATUS_BY_ERROR_CODE = {
  bad_request: 400,
  validation_error: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  rate_limited: 429,
  not_implemented: 501,
  internal_error: 500,
} as const;

export type ErrorCode = keyof typeof STATUS_BY_ERROR_CODE;

export type FieldErrors = Record<string, string[]>;

/** Thrown to respond with the document's error object. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details?: FieldErrors,
  ) {
    super(message);
  }

  get status(): number {
    return STATUS_BY_ERROR_CODE[this.code];
  }
}

export const badRequestError = (message: string) => new ServiceError("bad_request", message);
export const conflictError = (message: string) => new ServiceError("conflict", message);
export const notFoundError = (message: string) => new ServiceError("not_found", message);
export const unauthorizedError = () =>
  new ServiceError("unauthorized", "Authentication is missing, invalid or expired.");
/** The 403 errors of the section "Authentication". */
export const insufficientPermissionsError = () => new ServiceError("forbidden", "Insufficient permissions.");
export const readOnlyAccountError = () => new ServiceError("forbidden", "Account is read-only.");
export const warehouseOutOfScopeError = () =>
  new ServiceError("forbidden", "Warehouse is outside the client's authorized scope.");
export const validationError = (details: FieldErrors) =>
  new ServiceError("validation_error", "Model validation failed.", details);

/** The message of the 429 body: "Rate Limit Exceeded. 100 per Minute". */
export function rateLimitExceededMessage(requests = 100, intervalMs = 60_000): string {
  const names: Readonly<Record<number, string>> = { 1000: "Second", 60000: "Minute", 3600000: "Hour" };
  const otherwise = intervalMs % 1000 === 0 ? `${intervalMs / 1000} Seconds` : `${intervalMs} ms`;
  return `Rate Limit Exceeded. ${requests} per ${names[intervalMs] ?? otherwise}`;
}
