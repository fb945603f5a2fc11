import type { Incoming } from "../http/incoming.js";
import type { Reply } from "../http/reply.js";
import { pause } from "../timing.js";
import { bytesOf, partLength } from "./body-bytes.js";
import type { Hangs } from "./hangs.js";
import { connectionReset, terminated } from "./network-error.js";

/** Statuses that a `Response` must not have a body with. */
const BODILESS = new Set([204, 205, 304]);

/** The reply as the nearest thing that fetch can give: a response, a rejection, or nothing until the signal fires. */
export function responseFrom(
  reply: Reply,
  { method, signal }: Pick<Incoming, "method" | "signal">,
  hangs: Hangs,
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
      return new Response(slowly(body, delivery, signal), { status, headers });
    case "truncated":
      return new Response(cutShort(body, delivery.bytes), {
        status,
        headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
      });
  }
}

/** The body piece by piece, with a pause before each. */
function slowly(
  body: Reply["body"],
  pace: { delayMs: number; chunkBytes: number },
  signal: AbortSignal,
): ReadableStream {
  const bytes = bytesOf(body);
  let position = 0;
  return new ReadableStream({
    async pull(controller) {
      await pause(pace.delayMs, signal);
      if (signal.aborted) return controller.error(signal.reason);
      controller.enqueue(bytes.subarray(position, position + pace.chunkBytes));
      position += pace.chunkBytes;
      if (position >= bytes.length) controller.close();
    },
  });
}

/** The beginning of the body, then the error that a broken connection makes. */
function cutShort(body: Reply["body"], length: number | undefined): ReadableStream {
  const bytes = bytesOf(body);
  const part = bytes.subarray(0, partLength(bytes.length, length));
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent || part.length === 0) return controller.error(terminated());
      sent = true;
      controller.enqueue(part);
    },
  });
}
