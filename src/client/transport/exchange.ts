import type { Transform } from "node:stream";
import { nodeZlib } from "../../shared/node-modules.js";
import { monotonicNowMs, startTimer } from "../../shared/time/clock.js";
import { describeNetworkFailure } from "./network-failure.js";
import {
  type Exchange,
  isSuccessStatus,
  TransportFailure,
  type WireRequest,
  type WireResponse,
  type WireSender,
} from "./transport.js";

/** An error is described by the beginning of its body: the rest is neither read nor decompressed. */
const MAX_ERROR_BODY_BYTES = 128 * 1024;

/**
 * Sends a request, unless it was canceled, and returns the response. Enforces the timeout, the size limit and the
 * cancellation, fills in the trace, and ends once. A rejection of `send` fails the exchange.
 */
export function performExchange(request: WireRequest, send: WireSender): Promise<WireResponse> {
  const { timeoutMs, maxResponseBytes, cancellation, trace } = request;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let limit: BodyLimit = { maxBytes: maxResponseBytes, isCut: false };
  let coding = "";
  let resolve!: (response: WireResponse | Promise<WireResponse>) => void;
  let reject!: (failure: TransportFailure) => void;
  const result = new Promise<WireResponse>((fulfil, fail) => {
    resolve = fulfil;
    reject = fail;
  });
  const exchange: Exchange = {
    ended: false,
    cancel: undefined,
    receiveHead(status, headers, encoding = "") {
      trace.headAt = monotonicNowMs();
      trace.head = { status, headers };
      coding = encoding;
      if (!isSuccessStatus(status)) limit = { maxBytes: Math.min(maxResponseBytes, MAX_ERROR_BODY_BYTES), isCut: true };
      else if (Number(headers["content-length"]) > maxResponseBytes) fail("too large");
    },
    receiveChunk(chunk) {
      if (exchange.ended) return;
      // A caller's fetch function may return anything.
      if (!isBytes(chunk)) return fail("undecodable", new TypeError("the body is not bytes"));
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes <= limit.maxBytes) return;
      if (!limit.isCut) return fail("too large");
      exchange.complete();
      exchange.cancel?.();
    },
    complete() {
      const { head } = trace;
      if (exchange.ended || !head) return;
      end();
      const received = concatChunks(chunks, bytes);
      const { status, headers } = head;
      const withBody = (body: Uint8Array) => ({ status, headers, body });
      const undecodable = (cause: unknown) => {
        throw cause instanceof BodyTooLarge
          ? new TransportFailure("too large")
          : new TransportFailure("undecodable", cause);
      };
      resolve(coding ? decompressBody(received, coding, limit).then(withBody, undecodable) : withBody(received));
    },
    fail,
    failWith: (cause) => fail(describeNetworkFailure(cause) ? "connection" : "exception", cause),
  };
  const stops = [startTimer(timeoutMs, () => fail("timeout")), cancellation.onCancel(() => fail("canceled"))];
  if (cancellation.reason) fail("canceled");
  else send(request, exchange).catch(exchange.failWith);
  return result;

  function fail(kind: TransportFailure["kind"], cause?: unknown): void {
    if (exchange.ended) return;
    end();
    exchange.cancel?.();
    reject(new TransportFailure(kind, cause));
  }

  function end(): void {
    exchange.ended = true;
    for (const stop of stops) stop();
  }
}

/** Also for bytes of another realm: Jest runs each test file in one of its own. */
const isBytes = (chunk: unknown) =>
  ArrayBuffer.isView(chunk) && Object.prototype.toString.call(chunk) === "[object Uint8Array]";

/** The content codings to accept, best first. */
export const ACCEPTED_ENCODINGS = "gzip, br";

/** How much of a body is read. */
interface BodyLimit {
  maxBytes: number;
  /** A larger body is cut off instead of being refused. */
  isCut: boolean;
}

/** Decoding stopped because the body would have been too large. */
class BodyTooLarge extends Error {}

/** Decodes the body. Rejects if it is not valid in its coding, or larger than the limit, unless it is to be cut off. */
async function decompressBody(body: Uint8Array, encoding: string, limit: BodyLimit): Promise<Uint8Array> {
  let decoded = body;
  for (const coding of encoding.toLowerCase().split(",").reverse()) {
    const name = coding.trim();
    if (decoded.length === 0 || name === "identity" || name === "") continue;
    const decoder = createDecoder(name);
    if (!decoder) throw new Error(`unknown content coding ${name}`);
    decoded = await decode(decoder, decoded, limit);
  }
  return decoded;
}

function createDecoder(coding: string): Transform | undefined {
  switch (coding) {
    case "gzip":
    case "x-gzip":
      return nodeZlib?.createGunzip();
    case "br":
      return nodeZlib?.createBrotliDecompress();
    case "deflate":
      return nodeZlib?.createInflate();
    default:
      return undefined;
  }
}

async function decode(decoder: Transform, encoded: Uint8Array, { maxBytes, isCut }: BodyLimit): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  decoder.end(encoded);
  try {
    // Leaving the loop early stops the decoder.
    for await (const chunk of decoder) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) throw new BodyTooLarge();
    }
  } catch (error) {
    // What was decoded is enough, also if the encoded body was cut off.
    if (!isCut) throw error;
  }
  return concatChunks(chunks, bytes);
}

function concatChunks(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = chunks;
  if (only && chunks.length === 1) return only;
  const whole = new Uint8Array(length);
  let position = 0;
  for (const chunk of chunks) {
    whole.set(chunk, position);
    position += chunk.length;
  }
  return whole;
}
