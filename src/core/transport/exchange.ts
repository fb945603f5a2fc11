import { types } from "node:util";
import { now, startTimer } from "../../time/timer.js";
import { decompress, isTooLarge } from "./decompress.js";
import { networkFailure } from "./network-failure.js";
import { TransportFailure, type WireRequest, type WireResponse } from "./transport.js";

/** One request and its answer, whichever way it travels. */
export interface Exchange {
  settled: boolean;
  /** Stops what is under way on the wire. */
  cancel: (() => void) | undefined;
  /** The head of the answer has come. */
  receiveHead(status: number, headers: Record<string, string>): void;
  /** A piece of the body has come. */
  receiveChunk(chunk: Uint8Array): void;
  /** The body is complete; `encoding` tells how it is coded. */
  complete(encoding?: string): void;
  fail(kind: TransportFailure["kind"], cause?: unknown): void;
  /** Fails with whatever was thrown: a failure of the network, or an exception of code. */
  failWith(cause: unknown): void;
}

/**
 * Sends a request, unless its lifetime has ended, and gives the answer. Keeps the time, the size limit, the lifetime and the
 * trace of the exchange, and settles it once. What `send` rejects with ends it.
 */
export function exchange(
  { timeoutMs, maxResponseBytes, cancellation, trace }: WireRequest,
  send: (exchange: Exchange) => Promise<void>,
): Promise<WireResponse> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let resolve!: (response: WireResponse | Promise<WireResponse>) => void;
  let reject!: (failure: TransportFailure) => void;
  const answer = new Promise<WireResponse>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  const exchange: Exchange = {
    settled: false,
    cancel: undefined,
    receiveHead(status, headers) {
      trace.headAt = now();
      trace.head = { status, headers };
      if (Number(headers["content-length"]) > maxResponseBytes) fail("too large");
    },
    receiveChunk(chunk) {
      if (exchange.settled) return;
      bytes += chunk.byteLength;
      // A caller's fetch function may give anything.
      if (!types.isUint8Array(chunk)) fail("undecodable", new TypeError("the body is not bytes"));
      else if (bytes > maxResponseBytes) fail("too large");
      else chunks.push(chunk);
    },
    complete(encoding) {
      const { head } = trace;
      if (exchange.settled || !head) return;
      end();
      const [only] = chunks;
      const raw = chunks.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(chunks);
      const { status, headers } = head;
      const whole = (body: Buffer) => ({ status, headers, body });
      const undecodable = (cause: unknown) => {
        throw isTooLarge(cause) ? new TransportFailure("too large") : new TransportFailure("undecodable", cause);
      };
      resolve(encoding ? decompress(raw, encoding, maxResponseBytes).then(whole, undecodable) : whole(raw));
    },
    fail,
    failWith: (cause) => fail(networkFailure(cause) ? "connection" : "exception", cause),
  };
  const stops = [startTimer(timeoutMs, () => fail("timeout")), cancellation.onCancel(() => fail("cancelled"))];
  if (cancellation.reason) fail("cancelled");
  else send(exchange).catch(exchange.failWith);
  return answer;

  function fail(kind: TransportFailure["kind"], cause?: unknown): void {
    if (exchange.settled) return;
    end();
    exchange.cancel?.();
    reject(new TransportFailure(kind, cause));
  }

  function end(): void {
    exchange.settled = true;
    for (const stop of stops) stop();
  }
}
