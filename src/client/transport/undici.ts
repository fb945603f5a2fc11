import type { Dispatcher } from "undici";
import { ACCEPTED_ENCODINGS } from "./exchange.js";
import type { WireSender } from "./transport.js";

/** For a redirect interceptor of the caller's dispatcher: credentials go to no other origin. */
const NO_REDIRECTS = { maxRedirections: 0 };

/**
 * Sends through an undici dispatcher. It passes a handler to `dispatch` instead of calling `undici.request`: only a handler
 * learns whether anything was sent, which decides whether a write may be retried, and it needs no stream.
 *
 * @param toConnectFailure returns the failure to report if no connection was established
 */
export function createUndiciSender(
  base: URL,
  dispatcher: Dispatcher,
  toConnectFailure = (cause: unknown) => cause,
): WireSender {
  const prefix = base.pathname.replace(/\/+$/, "");
  return async (request, exchange) => {
    const { trace } = request;
    const options: Dispatcher.DispatchOptions = {
      origin: base.origin,
      path: prefix + request.target,
      method: request.method as Dispatcher.HttpMethod,
      headers: { "accept-encoding": ACCEPTED_ENCODINGS, ...request.headers },
      body: request.body ?? null,
      // The exchange enforces the timeout.
      headersTimeout: 0,
      bodyTimeout: 0,
      ...NO_REDIRECTS,
    };
    dispatcher.dispatch(options, {
      onRequestStart(controller) {
        // Only releases the connection: the exchange has ended by then.
        const cancel = () => controller.abort(new Error("canceled"));
        if (exchange.ended) return cancel();
        exchange.cancel = cancel;
        try {
          request.assertMaySend();
          trace.sent = true;
        } catch (cause) {
          exchange.fail("exception", cause);
        }
      },
      onResponseStart(_, status, headers) {
        if (status < 200) return;
        const joined = joinHeaderValues(headers);
        exchange.receiveHead(status, joined, joined["content-encoding"]);
      },
      onResponseData: (_, chunk) => exchange.receiveChunk(chunk),
      onResponseEnd: () => exchange.complete(),
      onResponseError: (_, cause) => exchange.failWith(trace.sent ? cause : toConnectFailure(cause)),
    });
  };
}

type IncomingHeaders = Record<string, string | string[] | undefined>;

function joinHeaderValues(raw: IncomingHeaders): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name in raw) {
    const value = raw[name];
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  }
  return headers;
}
