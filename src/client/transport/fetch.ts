import { ConfigurationError } from "../../shared/errors/index.js";
import { isDeno, isFetchProxied } from "../../shared/runtime-name.js";
import { fieldOf, isObject } from "../../shared/unknown.js";
import { describeNetworkFailure } from "./network-failure.js";
import { type EnvironmentProxy, findEnvironmentProxy, ProxyFailure } from "./proxy.js";
import type { Exchange, WireRequest, WireSender } from "./transport.js";

/** A function like the global `fetch`. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/** Sends with a fetch function. The global one is looked up at each call, so that a test can patch it later. */
export function createFetchSender(base: URL, fetchFunction: FetchLike): WireSender {
  const isGlobal = fetchFunction === globalThis.fetch;
  const prefix = base.href.replace(/\/+$/, "");
  return async (request, exchange) => {
    const fetch = isGlobal ? globalThis.fetch : fetchFunction;
    const init = isGlobal && isDeno() ? createSingleUseRequestInit(request) : createRequestInit(request);
    const response = await sendFetchRequest(fetch, prefix + request.target, init, request, exchange).catch((cause) => {
      throw isGlobal ? namingProxy(base, cause) : cause;
    });
    // A body that cannot be read is a lost response, whatever the error.
    await readFetchResponse(response, exchange).catch((cause: unknown) => exchange.fail("connection", cause));
  };
}

function createRequestInit({ method, headers, body }: WireRequest): RequestInit {
  return { method, headers, redirect: "manual", ...(body === undefined ? {} : { body }) };
}

/** Methods that the retry policy never retries after the request was sent. */
const WRITE_METHODS = ["POST", "PATCH"];

/**
 * Prevents Deno from resending a write. If the connection is lost before the response, its fetch resends the request,
 * unless the body is a stream: https://github.com/denoland/deno/issues/35610
 */
function createSingleUseRequestInit(request: WireRequest): RequestInit {
  const init = createRequestInit(request);
  if (!WRITE_METHODS.includes(request.method)) return init;
  return { ...init, body: new Blob([request.body ?? ""]).stream(), duplex: "half" };
}

async function sendFetchRequest(
  fetch: FetchLike,
  url: string,
  init: RequestInit,
  { trace, assertMaySend }: WireRequest,
  exchange: Exchange,
): Promise<Response> {
  const controller = new AbortController();
  exchange.cancel = () => controller.abort();
  assertMaySend();
  trace.sent = true;
  try {
    const response: unknown = await fetch(url, { ...init, signal: controller.signal });
    if (!isResponseLike(response)) throw new ConfigurationError("client options: fetch must return a Response");
    return response;
  } catch (cause) {
    if (describeNetworkFailure(cause)?.notSent) trace.sent = false;
    throw cause;
  }
}

/** The same failure with the name of the proxy, if a proxy refused. */
function namingProxy(base: URL, cause: unknown): unknown {
  if (!describeNetworkFailure(cause)?.isProxyRefusal) return cause;
  const proxy = findFetchProxy(base);
  return proxy ? new ProxyFailure(proxy, cause) : cause;
}

/** The proxy that the global fetch function uses. */
export const findFetchProxy = (base: URL): EnvironmentProxy | undefined =>
  isFetchProxied() ? findEnvironmentProxy(base) : undefined;

async function readFetchResponse(response: Response, exchange: Exchange): Promise<void> {
  // Response.error() is a network failure, and an opaque redirect contains nothing.
  if (response.status === 0) throw new Error("the fetch function returned a response with status 0");
  const reader = response.body?.getReader();
  // Without a coding: fetch decompresses the body.
  exchange.receiveHead(response.status, Object.fromEntries(response.headers));
  while (reader && !exchange.ended) {
    const { done, value } = await reader.read();
    if (done) break;
    exchange.receiveChunk(value);
  }
  if (exchange.ended) reader?.cancel().catch(() => {});
  else exchange.complete();
}

/** Responses of other fetch libraries count too. One whose body was read already is of no use. */
const isResponseLike = (value: unknown): value is Response =>
  typeof fieldOf(value, "status") === "number" &&
  isObject(fieldOf(value, "headers")) &&
  fieldOf(value, "bodyUsed") !== true;
