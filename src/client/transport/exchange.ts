import { nodeZlib } from "../../shared/node-modules.js";
import { type Abortable, onAbort } from "../../shared/time/abort.js";
import { startTimer } from "../../shared/time/clock.js";
import { fieldOf } from "../../shared/unknown.js";
import { describeNetworkFailure } from "./network-failure.js";

export interface ResponseHead {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
}

/** A response, read to its end. */
export interface WireResponse extends ResponseHead {
  /** The body, decompressed. */
  body: Uint8Array;
  /** Whether only the close of the connection shows where the body ends. Such a body may have been cut. */
  endsByClose?: boolean;
}

const lenient = /* @__PURE__ */ new TextDecoder();
const strict = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true });

/** The body as a string, without a byte order mark. Bytes that are not UTF-8 become replacement characters. */
export const readText = ({ body }: Pick<WireResponse, "body">): string => lenient.decode(body);

/** The body as a string; `undefined` if it is not valid UTF-8. */
export function readValidText({ body }: Pick<WireResponse, "body">): string | undefined {
  try {
    return strict.decode(body);
  } catch {
    return undefined;
  }
}

/** Returns the value of a JSON text; `undefined`, which is no JSON value, if the text is not JSON. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** A request, ready to be sent. */
export interface WireRequest {
  method: string;
  /** Path and query behind the base URL. */
  target: string;
  headers: Record<string, string>;
  body: string | undefined;
  /** Time limit from sending to the last byte of the body, in ms. */
  timeoutMs: number;
  maxResponseBytes: number;
  signal: Abortable;
  /** Called synchronously right before the first byte is sent. If it throws, nothing is sent. */
  beforeFirstByte(): void;
}

/** Why there is no response. `exception`: something was thrown that is not known to be a failure of the network. */
export interface ExchangeFailure {
  readonly kind: "connection" | "exception" | "timeout" | "aborted" | "too large" | "undecodable";
  readonly cause?: unknown;
}

/** How an exchange has ended. `sent`: a byte of the request may have left this process. */
export type ExchangeEnd =
  | { readonly sent: boolean; readonly response: WireResponse; readonly failure?: undefined }
  | {
      readonly sent: boolean;
      readonly response?: undefined;
      readonly failure: ExchangeFailure;
      /** The head of the response, if it was received. */
      readonly head: ResponseHead | undefined;
    };

/** Sends one request, and reports its progress and its end to the exchange. A rejection fails the exchange. */
export type Wire = (request: WireRequest, exchange: Exchange) => Promise<void>;

export interface Transport {
  readonly send: Wire;
  /** Closes the connections that the transport has opened. */
  close(): Promise<void>;
}

/** Whether the headers of a response do not say where its body ends. */
export const endsOnlyByClose = (headers: Readonly<Record<string, string>>) =>
  headers["content-length"] === undefined && headers["transfer-encoding"] === undefined;

export const isSuccessStatus = (status: number) => status >= 200 && status < 300;

/** Sends a request once, over any transport. Never rejects. */
export function exchange(request: WireRequest, send: Wire): Promise<ExchangeEnd> {
  return new Promise((resolve) => {
    const open = new Exchange(request, resolve);
    if (open.hasEnded) return;
    send(request, open).catch((cause: unknown) => open.failWith(cause));
  });
}

/** One request and its response. Enforces the timeout, the size limit and the abort, and ends once. */
export class Exchange {
  /** Whether a byte of the request may have left this process. The transport sets it. */
  sent = false;
  hasEnded = false;
  /** Stops the request on the wire. */
  cancel: (() => void) | undefined;
  /** Called when the exchange has ended, with a response or with a failure. */
  onEnd: (() => void) | undefined;
  #head: ResponseHead | undefined;
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #coding = "";
  #endsByClose = false;
  #resolve: (end: ExchangeEnd | Promise<ExchangeEnd>) => void;
  readonly #stops: (() => void)[];

  constructor(request: WireRequest, resolve: (end: ExchangeEnd | Promise<ExchangeEnd>) => void) {
    const { signal, timeoutMs } = request;
    this.#maxBytes = request.maxResponseBytes;
    this.#resolve = resolve;
    const abort = () => this.fail("aborted", signal.reason);
    this.#stops = [startTimer(timeoutMs, () => this.fail("timeout")), onAbort(signal, abort)];
    if (signal.aborted) abort();
  }

  /** `coding` is the content coding of the chunks to come; `endsByClose` as in {@link WireResponse}. */
  receiveHead(
    status: number,
    headers: Record<string, string>,
    { coding = "", endsByClose = false }: { coding?: string | undefined; endsByClose?: boolean },
  ): void {
    this.#head = { status, headers };
    this.#coding = coding;
    this.#endsByClose = endsByClose;
    if (Number(headers["content-length"]) > this.#maxBytes) this.fail("too large");
  }

  receiveChunk(chunk: Uint8Array): void {
    if (this.hasEnded) return;
    // A caller's fetch function may return anything.
    if (!isBytes(chunk)) {
      this.fail("undecodable", new TypeError("the body is not bytes"));
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#maxBytes) this.fail("too large");
  }

  complete(): void {
    const head = this.#head;
    if (this.hasEnded || !head) return;
    const received = concat(this.#chunks, this.#bytes);
    const resolve = this.#end();
    const { sent } = this;
    const endOf = (body: Uint8Array): ExchangeEnd => ({
      sent,
      response: this.#endsByClose ? { ...head, body, endsByClose: true } : { ...head, body },
    });
    const undecoded = (cause: unknown): ExchangeEnd => {
      const kind = fieldOf(cause, "code") === "ERR_BUFFER_TOO_LARGE" ? "too large" : "undecodable";
      return { sent, failure: { kind, cause }, head };
    };
    resolve(
      this.#coding === "" ? endOf(received) : decompress(received, this.#coding, this.#maxBytes).then(endOf, undecoded),
    );
  }

  fail(kind: ExchangeFailure["kind"], cause?: unknown): void {
    if (this.hasEnded) return;
    const { cancel } = this;
    const head = this.#head;
    const resolve = this.#end();
    cancel?.();
    resolve({ sent: this.sent, failure: { kind, cause }, head });
  }

  /** Fails with anything that was thrown, as a failure of the network or as an exception. */
  failWith(cause: unknown): void {
    this.fail(describeNetworkFailure(cause) ? "connection" : "exception", cause);
  }

  /** Ends the exchange, and returns the function that reports its end. */
  #end() {
    const resolve = this.#resolve;
    this.hasEnded = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.onEnd?.();
    // The transport may hold an exchange for longer than its response is used. If the exchange still referred to the
    // response or to the transport, garbage collection would take twice as long (Node.js 20).
    this.cancel = this.onEnd = this.#head = undefined;
    this.#chunks = [];
    this.#resolve = doNothing;
    return resolve;
  }
}

const doNothing = () => {};

/** Whether a chunk is bytes. Bytes of another realm count, too: Jest runs each test file in a realm of its own. */
const isBytes = (chunk: unknown) =>
  ArrayBuffer.isView(chunk) && Object.prototype.toString.call(chunk) === "[object Uint8Array]";

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = chunks;
  if (only && chunks.length === 1) return only;
  // `allocUnsafe` does not fill the memory with zeros first.
  const whole = globalThis.Buffer?.allocUnsafe(length) ?? new Uint8Array(length);
  let position = 0;
  for (const chunk of chunks) {
    whole.set(chunk, position);
    position += chunk.length;
  }
  return whole;
}

/** The content codings to accept, best first. */
export const ACCEPTED_ENCODINGS = "gzip, br";

type Zlib = NonNullable<typeof nodeZlib>;
type Decoder = (
  encoded: Uint8Array,
  options: { maxOutputLength?: number },
  done: (error: Error | null, decoded: Uint8Array) => void,
) => void;

const DECODERS: Readonly<Record<string, (zlib: Zlib) => Decoder>> = {
  gzip: ({ gunzip }) => gunzip,
  "x-gzip": ({ gunzip }) => gunzip,
  br: ({ brotliDecompress }) => brotliDecompress,
  deflate: ({ inflate }) => inflate,
};

/** Decodes a body. A body that decodes to more than `maxBytes` is refused. */
async function decompress(encoded: Uint8Array, codings: string, maxBytes: number): Promise<Uint8Array> {
  let body = encoded;
  for (const coding of codings.toLowerCase().split(",").reverse()) {
    const name = coding.trim();
    if (body.length > 0 && name !== "identity" && name !== "") body = await decode(body, name, maxBytes);
  }
  return body;
}

function decode(encoded: Uint8Array, coding: string, maxBytes: number): Promise<Uint8Array> {
  const decoder = Object.hasOwn(DECODERS, coding) && nodeZlib ? DECODERS[coding]?.(nodeZlib) : undefined;
  return new Promise((resolve, reject) => {
    const options = maxBytes < MAX_ZLIB_LENGTH ? { maxOutputLength: maxBytes } : {};
    if (decoder) decoder(encoded, options, (error, decoded) => (error ? reject(error) : resolve(decoded)));
    else reject(new Error(`unknown content coding ${coding}`));
  });
}

/** The largest limit that zlib accepts. */
const MAX_ZLIB_LENGTH = 2 ** 31;
