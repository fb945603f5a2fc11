import { htmlResponse, jsonResponse, type SandboxResponse, textResponse } from "../http/response.js";
import { type ErrorCode, errorBody, STATUS_OF_CODE } from "../http/service-error.js";
import type { Fault } from "../options/fault-rule.js";

const DEFAULT_DELAY_MS = 50;
const DEFAULT_CHUNK_BYTES = 256;
const DEFAULT_OVERSIZE_BYTES = 100 * 1024 * 1024;

/** Whether the request still takes effect. */
export function takesEffect(fault: Fault): boolean {
  switch (fault.type) {
    case "status":
    case "drop":
    case "hang":
    case "html":
      return fault.when === "after";
    default:
      return true;
  }
}

/** The faulty response. `response` is the service's own, undefined if the request did not take effect. */
export function applyFault(fault: Fault, response: SandboxResponse | undefined): SandboxResponse {
  switch (fault.type) {
    case "status":
      return statusResponse(fault.status, fault.body, fault.headers);
    case "html":
      return htmlResponse(fault.status ?? 502, errorPage(fault.status ?? 502));
    case "drop":
    case "hang":
      return { ...textResponse(0, ""), delivery: { kind: fault.type } };
    case "wrong-shape":
      return jsonResponse(response?.status ?? 200, fault.body ?? { unexpected: true });
    case "invalid-json":
      return { ...orEmptyObject(response), body: `${orEmptyObject(response).body.toString().slice(0, -1)},]` };
    case "empty":
      return { ...orEmptyObject(response), body: "" };
    case "oversized":
      return { ...orEmptyObject(response), body: `"${"x".repeat(fault.bytes ?? DEFAULT_OVERSIZE_BYTES)}"` };
    case "truncated":
      return { ...orEmptyObject(response), delivery: { kind: "truncated", bytes: fault.bytes } };
    case "slow": {
      const { delayMs = DEFAULT_DELAY_MS, chunkBytes = DEFAULT_CHUNK_BYTES } = fault;
      return { ...orEmptyObject(response), delivery: { kind: "slow", delayMs, chunkBytes } };
    }
  }
}

function statusResponse(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> | undefined,
): SandboxResponse {
  if (typeof body === "string")
    return { ...textResponse(status, body), headers: lowerCaseNames({ ...TEXT, ...headers }) };
  if (body !== undefined) return jsonResponse(status, body, lowerCaseNames(headers));
  if (status === 429)
    return jsonResponse(status, { message: "Rate Limit Exceeded. 100 per Minute" }, lowerCaseNames(headers));
  const response = jsonResponse(status, undefined, lowerCaseNames(headers));
  return status < 400
    ? response
    : { ...response, body: errorBody(status, codeOf(status), "This response is the result of a fault rule.") };
}

const TEXT = { "content-type": "text/plain; charset=utf-8" };

/** The first code that the document has for the status: for 400 that is `bad_request`. */
function codeOf(status: number): ErrorCode | undefined {
  return CODES.find((code) => STATUS_OF_CODE[code] === status);
}

const CODES: readonly ErrorCode[] = [
  "bad_request",
  "unauthorized",
  "forbidden",
  "not_found",
  "conflict",
  "not_implemented",
  "internal_error",
];

function orEmptyObject(response: SandboxResponse | undefined): SandboxResponse {
  return response ?? jsonResponse(200, {});
}

function lowerCaseNames(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function errorPage(status: number): string {
  return `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${status} Bad Gateway</h1><hr>proxy</body></html>\n`;
}
