import { fieldOf } from "../errors/field-of.js";
import { type Exchange, exchange } from "./exchange.js";
import type { Transport, WireRequest } from "./transport.js";

/** A function like the global `fetch`. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/** Failures of a connection that was never made. */
const NOT_SENT = new Set<unknown>([
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
      const fetch = isGlobal ? globalThis.fetch : given;
      return exchange(request, (exchange) =>
        run(fetch, prefix + request.target, request, exchange).catch((cause: unknown) => {
          if (isNotSent(cause)) request.trace.sent = false;
          throw cause;
        }),
      );
    },
    close: async () => {},
  };
}

async function run(fetch: FetchLike, url: string, request: WireRequest, exchange: Exchange): Promise<void> {
  const { method, headers, body, trace } = request;
  const controller = new AbortController();
  exchange.cancel = () => controller.abort();
  trace.sent = true;
  const init: RequestInit = { method, headers, redirect: "manual", signal: controller.signal };
  const response = await fetch(url, body === undefined ? init : { ...init, body });
  const reader = response.body?.getReader();
  exchange.begin(response.status, Object.fromEntries(response.headers));
  while (reader && !exchange.over) {
    const { done, value } = await reader.read();
    if (done) break;
    exchange.add(value);
  }
  if (exchange.over) reader?.cancel().catch(() => {});
  // fetch has decompressed the body.
  else exchange.complete();
}

/** Looks for the code of the failure, which fetch functions put on the error or, as undici does, on its cause. */
function isNotSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (NOT_SENT.has(fieldOf(cause, "code"))) return true;
    if (cause instanceof AggregateError && cause.errors.length > 0) return cause.errors.every(isNotSent);
  }
  return false;
}
