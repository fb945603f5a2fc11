import { ConfigurationError } from "../../errors/index.js";
import { fieldOf, isObject } from "../../errors/unknown-value.js";
import { type Exchange, performExchange } from "./exchange.js";
import { describeNetworkFailure } from "./network-failure.js";
import type { Transport, WireRequest } from "./transport.js";

/** A function like the global `fetch`. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/** Sends with a fetch function. The global one is looked up at each call, so that a test can patch it later. */
export function createFetchTransport(base: URL, fetchFunction: FetchLike): Transport {
  const isGlobal = fetchFunction === globalThis.fetch;
  const prefix = base.href.replace(/\/+$/, "");
  return {
    send(request) {
      const fetch = isGlobal ? globalThis.fetch : fetchFunction;
      return performExchange(request, async (exchange) => {
        const response = await sendFetchRequest(fetch, prefix + request.target, request, exchange);
        // A body that cannot be read is a lost response, whatever the error.
        await readFetchResponse(response, exchange).catch((cause: unknown) => exchange.fail("connection", cause));
      });
    },
    close: async () => {},
  };
}

async function sendFetchRequest(
  fetch: FetchLike,
  url: string,
  request: WireRequest,
  exchange: Exchange,
): Promise<Response> {
  const { method, headers, body, trace } = request;
  const controller = new AbortController();
  exchange.cancel = () => controller.abort();
  const init: RequestInit = { method, headers, redirect: "manual", signal: controller.signal };
  trace.sent = true;
  try {
    const response: unknown = await fetch(url, body === undefined ? init : { ...init, body });
    if (!isResponseLike(response)) throw new ConfigurationError("client options: fetch must return a Response");
    return response;
  } catch (cause) {
    if (describeNetworkFailure(cause)?.notSent) trace.sent = false;
    throw cause;
  }
}

async function readFetchResponse(response: Response, exchange: Exchange): Promise<void> {
  // Response.error() is a network failure, and an opaque redirect contains nothing.
  if (response.status === 0) throw new Error("the fetch function returned a response with status 0");
  const reader = response.body?.getReader();
  exchange.receiveHead(response.status, Object.fromEntries(response.headers));
  while (reader && !exchange.settled) {
    const { done, value } = await reader.read();
    if (done) break;
    exchange.receiveChunk(value);
  }
  if (exchange.settled) reader?.cancel().catch(() => {});
  // fetch has already decompressed the body.
  else exchange.complete();
}

/** Responses of other fetch libraries count too. One whose body was read already is of no use. */
const isResponseLike = (value: unknown): value is Response =>
  typeof fieldOf(value, "status") === "number" &&
  isObject(fieldOf(value, "headers")) &&
  fieldOf(value, "bodyUsed") !== true;
