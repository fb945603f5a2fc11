import { errorResponse, htmlResponse, jsonResponse, type SandboxResponse, textResponse } from "../http/response.js";
import { type ErrorCode, STATUS_BY_ERROR_CODE } from "../http/service-error.js";
import type { Fault } from "../options/fault-rule.js";

const DEFAULT_CHUNK_DELAY_MS = 50;
const DEFAULT_CHUNK_BYTES = 256;
const DEFAULT_OVERSIZED_BODY_BYTES = 100 * 1024 * 1024;

/** Whether the request still takes effect. */
export function doesRequestTakeEffect(fault: Fault): boolean {
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
      return faultStatusResponse(fault.status, fault.body, fault.headers);
    case "html":
      return htmlResponse(fault.status ?? 502, proxyErrorPageHtml(fault.status ?? 502));
    case "drop":
    case "hang":
      return { ...textResponse(0, ""), delivery: { kind: fault.type } };
    case "wrong-shape":
      return jsonResponse(response?.status ?? 200, fault.body ?? { unexpected: true });
    case "invalid-json":
      return withInvalidJson(responseOrEmptyObject(response));
    case "empty":
      return { ...responseOrEmptyObject(response), body: "" };
    case "oversized":
      return {
        ...responseOrEmptyObject(response),
        body: `"${"x".repeat(fault.bytes ?? DEFAULT_OVERSIZED_BODY_BYTES)}"`,
      };
    case "truncated":
      return { ...responseOrEmptyObject(response), delivery: { kind: "truncated", bytes: fault.bytes } };
    case "slow": {
      const { delayMs = DEFAULT_CHUNK_DELAY_MS, chunkBytes = DEFAULT_CHUNK_BYTES } = fault;
      return { ...responseOrEmptyObject(response), delivery: { kind: "slow", delayMs, chunkBytes } };
    }
  }
}

function faultStatusResponse(
  status: number,
  body: unknown,
  given: Readonly<Record<string, string>> = {},
): SandboxResponse {
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
  if (typeof body === "string") {
    const response = textResponse(status, body);
    return { ...response, headers: { ...response.headers, ...headers } };
  }
  if (body !== undefined || status < 400) return jsonResponse(status, body, headers);
  if (status === 429) return jsonResponse(status, { message: "Rate Limit Exceeded. 100 per Minute" }, headers);
  const message = "This response is the result of a fault rule.";
  return errorResponse(status, errorCodeOfStatus(status), message, { headers });
}

/** The first code that the document has for the status: for 400 that is `bad_request`. */
function errorCodeOfStatus(status: number): ErrorCode | undefined {
  return FAULT_ERROR_CODES.find((code) => STATUS_BY_ERROR_CODE[code] === status);
}

const FAULT_ERROR_CODES: readonly ErrorCode[] = [
  "bad_request",
  "unauthorized",
  "forbidden",
  "not_found",
  "conflict",
  "not_implemented",
  "internal_error",
];

function responseOrEmptyObject(response: SandboxResponse | undefined): SandboxResponse {
  return response ?? jsonResponse(200, {});
}

function proxyErrorPageHtml(status: number): string {
  return `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>${status} Bad Gateway</h1><hr>proxy</body></html>\n`;
}

/** Almost JSON: a parser fails at the end only. */
function withInvalidJson(response: SandboxResponse): SandboxResponse {
  return { ...response, body: `${response.body.slice(0, -1)},]` };
}
