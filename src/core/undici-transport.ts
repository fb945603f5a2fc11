import type { Dispatcher } from "undici";
import { ACCEPTED_ENCODINGS } from "./decompress.js";
import { Exchange } from "./exchange.js";
import type { Transport } from "./transport.js";

/** Where the dispatcher comes from, and what becomes of it. */
export interface DispatcherSource {
  get(): Promise<Dispatcher>;
  close(): Promise<void>;
}

/**
 * Sends through an undici dispatcher. It hands the dispatcher a handler of its own instead of calling `undici.request`:
 * only a handler learns whether anything was sent, which decides whether a write may be repeated, and it needs no
 * stream.
 */
export function undiciTransport(base: URL, source: DispatcherSource): Transport {
  const prefix = base.pathname.replace(/\/+$/, "");
  return {
    send(request) {
      const exchange = new Exchange(request);
      const options: Dispatcher.DispatchOptions = {
        origin: base.origin,
        path: prefix + request.target,
        method: request.method as Dispatcher.HttpMethod,
        headers: { "accept-encoding": ACCEPTED_ENCODINGS, ...request.headers },
        body: request.body ?? null,
        // The timeouts of the call are kept by the exchange.
        headersTimeout: 0,
        bodyTimeout: 0,
      };
      source
        .get()
        .then((dispatcher) => exchange.over || dispatcher.dispatch(options, new Handler(exchange)))
        .catch((cause: unknown) => exchange.fail({ kind: "connection", cause }));
      return exchange.answer;
    },
    close: () => source.close(),
  };
}

/** Thrown into the dispatcher to make it let go of the connection; the caller has had its answer by then. */
class Cancelled extends Error {}

class Handler implements Dispatcher.DispatchHandler {
  #encoding: string | undefined;

  constructor(readonly exchange: Exchange) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.exchange.over) {
      controller.abort(new Cancelled());
      return;
    }
    this.exchange.sent = true;
    this.exchange.cancel = () => controller.abort(new Cancelled());
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, raw: IncomingHeaders): void {
    if (status < 200) return;
    const headers = headerText(raw);
    this.#encoding = headers["content-encoding"];
    this.exchange.begin(status, headers);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.exchange.add(chunk);
  }

  onResponseEnd(): void {
    this.exchange.complete(this.#encoding);
  }

  onResponseError(_: Dispatcher.DispatchController, cause: Error): void {
    this.exchange.fail({ kind: "connection", cause });
  }
}

type IncomingHeaders = Record<string, string | string[] | undefined>;

function headerText(raw: IncomingHeaders): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name in raw) {
    const value = raw[name];
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  }
  return headers;
}
