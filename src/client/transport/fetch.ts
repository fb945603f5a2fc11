import { ConfigurationError } from "../../shared/errors/index.js";
import { isDeno } from "../../shared/runtime-name.js";
import { fieldOf, isObject } from "../../shared/unknown.js";
import { type Exchange, endsOnlyByClose, type Wire, type WireRequest } from "./exchange.js";

/** A function like the global `fetch`. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/** Sends with a fetch function. The global one is looked up at each call, so that a test can patch it later. */
export function createFetchWire(base: URL, fetchFunction: FetchLike): Wire {
  const isGlobal = fetchFunction === globalThis.fetch;
  const prefix = base.href.replace(/\/+$/, "");
  return async (request, exchange) => {
    const fetch = isGlobal ? globalThis.fetch : fetchFunction;
    const controller = new AbortController();
    exchange.cancel = () => controller.abort();
    request.beforeFirstByte();
    if (exchange.hasEnded) return;
    // Counts as sent, whatever is thrown: the function may have repeated the request by itself and report only its last
    // try.
    exchange.sent = true;
    const response: unknown = await fetch(prefix + request.target, {
      ...requestInit(request),
      signal: controller.signal,
    });
    if (!isResponse(response)) throw new ConfigurationError("client options: fetch must return a WHATWG Response");
    // If the body cannot be read, the response counts as lost, whatever the error is.
    await readResponse(response, exchange).catch((cause: unknown) => exchange.fail("connection", cause));
  };
}

function requestInit({ method, headers, body }: WireRequest): RequestInit {
  const init: RequestInit = { method, headers, redirect: "manual" };
  if (body === undefined) return init;
  // If the connection breaks before the response, Deno's fetch repeats the request, unless its body is a stream:
  // https://github.com/denoland/deno/issues/35610
  const isOnce = isDeno() && (method === "POST" || method === "PATCH");
  return isOnce ? { ...init, body: new Blob([body]).stream(), duplex: "half" } : { ...init, body };
}

/** The codings that fetch decompresses. Bodies with other codings are returned as they are. */
const DECOMPRESSED_PATTERN = /^\s*((x-)?gzip|deflate|br|zstd|identity)?\s*$/i;

async function readResponse(response: Response, exchange: Exchange): Promise<void> {
  // Response.error() is a failure of the network, and an opaque redirect contains nothing.
  if (response.status === 0) throw new Error("the fetch function returned a response with status 0");
  const reader = response.body?.getReader();
  // No coding is passed on, because fetch has decompressed the body.
  const headers = Object.fromEntries(response.headers);
  // A response without an address comes from memory, and is complete.
  const endsByClose = response.url !== "" && response.url !== undefined && endsOnlyByClose(headers);
  exchange.receiveHead(response.status, headers, { endsByClose });
  const codings = response.headers.get("content-encoding") ?? "";
  if (!codings.split(",").every((coding) => DECOMPRESSED_PATTERN.test(coding)))
    exchange.fail("undecodable", new Error(`unknown content coding ${codings}`));
  while (reader && !exchange.hasEnded) {
    const { done, value } = await reader.read();
    if (done) break;
    exchange.receiveChunk(value);
  }
  if (exchange.hasEnded) reader?.cancel().catch(() => {});
  else exchange.complete();
}

/** Whether a value is a response of any fetch library that follows the standard, with a body that nobody has read. */
function isResponse(value: unknown): value is Response {
  const body = fieldOf(value, "body");
  return (
    typeof fieldOf(value, "status") === "number" &&
    isObject(fieldOf(value, "headers")) &&
    fieldOf(value, "bodyUsed") !== true &&
    (body === null || body === undefined || typeof fieldOf(body, "getReader") === "function")
  );
}
