import type { SandboxRequest } from "../http/incoming.js";
import type { SandboxResponse } from "../http/reply.js";
import { sleep } from "../timing.js";
import { toBytes, truncatedLength } from "./body-bytes.js";
import type { HangingRequests } from "./hangs.js";
import { bodyTerminated, connectionReset } from "./network-error.js";

/** Statuses that a `Response` must not have a body with. */
const BODILESS = new Set([204, 205, 304]);

/** The reply as the nearest thing that fetch can give: a response, a rejection, or nothing until the signal fires. */
export function toFetchResponse(
  reply: SandboxResponse,
  { method, signal }: Pick<SandboxRequest, "method" | "signal">,
  hangs: HangingRequests,
): Promise<Response> | Response {
  const { status, headers, body, delivery } = reply;
  const { kind } = delivery;
  if (method === "HEAD" && kind !== "drop" && kind !== "hang") return new Response(null, { status, headers });
  switch (delivery.kind) {
    case "drop":
      return Promise.reject(connectionReset());
    case "hang":
      return hangs.hang(signal);
    case "whole":
      return new Response(body === "" || BODILESS.has(status) ? null : body, { status, headers });
    case "slow":
      return new Response(slowStream(body, delivery, signal), { status, headers });
    case "truncated":
      return new Response(truncatedStream(body, delivery.bytes), {
        status,
        headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
      });
  }
}

/** The body piece by piece, with a pause before each. */
function slowStream(
  body: SandboxResponse["body"],
  pace: { delayMs: number; chunkBytes: number },
  signal: AbortSignal,
): ReadableStream {
  const bytes = toBytes(body);
  let position = 0;
  return new ReadableStream({
    async pull(controller) {
      await sleep(pace.delayMs, signal);
      if (signal.aborted) return controller.error(signal.reason);
      controller.enqueue(bytes.subarray(position, position + pace.chunkBytes));
      position += pace.chunkBytes;
      if (position >= bytes.length) controller.close();
    },
  });
}

/** The beginning of the body, then the error that a broken connection makes. */
function truncatedStream(body: SandboxResponse["body"], length: number | undefined): ReadableStream {
  const bytes = toBytes(body);
  const part = bytes.subarray(0, truncatedLength(bytes.length, length));
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent || part.length === 0) return controller.error(bodyTerminated());
      sent = true;
      controller.enqueue(part);
    },
  });
}
