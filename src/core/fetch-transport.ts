import { Exchange } from "./exchange.js";
import type { Transport, WireRequest } from "./transport.js";

/** A function like the global `fetch`. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/** Failures of a connection that was never made. */
const NOT_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Sends with a fetch function. The global one is looked up at each call, so that a test can patch it later. */
export function fetchTransport(base: URL, given: FetchLike): Transport {
  const isGlobal = given === globalThis.fetch;
  const prefix = base.href.replace(/\/+$/, "");
  return {
    send(request) {
      const exchange = new Exchange(request);
      if (!exchange.over) {
        run(isGlobal ? globalThis.fetch : given, prefix + request.target, request, exchange).catch((cause: unknown) => {
          if (isNotSent(cause)) exchange.sent = false;
          exchange.fail({ kind: "connection", cause });
        });
      }
      return exchange.answer;
    },
    close: async () => {},
  };
}

async function run(fetch: FetchLike, url: string, request: WireRequest, exchange: Exchange): Promise<void> {
  const controller = new AbortController();
  exchange.cancel = () => controller.abort();
  exchange.sent = true;
  const response = await fetch(url, {
    method: request.method,
    headers: request.headers,
    ...(request.body === undefined ? {} : { body: request.body }),
    redirect: "manual",
    signal: controller.signal,
  });
  const reader = response.body?.getReader();
  exchange.begin(response.status, Object.fromEntries(response.headers));
  while (reader && !exchange.over) {
    const { done, value } = await reader.read();
    if (done) break;
    exchange.add(value);
  }
  if (exchange.over) reader?.cancel().catch(() => {});
  // fetch has decompressed the body.
  else exchange.complete(undefined);
}

/** Looks for the code of the failure, which fetch functions put on the error or, as undici does, on its cause. */
function isNotSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string" && NOT_SENT.has(cause.code)) return true;
    if (cause instanceof AggregateError && cause.errors.length > 0) return cause.errors.every(isNotSent);
  }
  return false;
}
