import { messageOf } from "../shared/unknown.js";
import {
  BODILESS_STATUSES,
  errorResponse,
  SANDBOX_ORIGIN,
  type SandboxRequest,
  type SandboxResponse,
} from "./http/messages.js";
import type { SandboxOptions } from "./options/options.js";

/** Returns a response as the caller's function has rewritten it. It is still slow or truncated if a fault rule says so. */
export async function rewriteResponse(
  rewrite: NonNullable<SandboxOptions["rewrite"]>,
  response: SandboxResponse,
  request: SandboxRequest,
): Promise<SandboxResponse> {
  try {
    const rewritten = await rewrite(toWebResponse(response), toWebRequest(request));
    const body = new Uint8Array(await rewritten.arrayBuffer());
    return { ...response, status: rewritten.status, headers: Object.fromEntries(rewritten.headers), body };
  } catch (error) {
    return errorResponse(500, "internal_error", `The option rewrite failed: ${messageOf(error)}`);
  }
}

/** Returns a response in the form in which fetch returns it. */
export function toWebResponse({ status, headers, body }: SandboxResponse): Response {
  return new Response(body.length === 0 || BODILESS_STATUSES.has(status) ? null : body, { status, headers });
}

function toWebRequest({ method, target, headers, body }: SandboxRequest): Request {
  const mayHaveBody = method !== "GET" && method !== "HEAD";
  return new Request(SANDBOX_ORIGIN + target, { method, headers, ...(mayHaveBody && body !== "" && { body }) });
}
