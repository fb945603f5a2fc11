import { types } from "node:util";
import { startTimer } from "../time/timer.js";
import { decompress, isTooLarge } from "./decompress.js";
import {
  type Timing,
  TransportFailure,
  type TransportReason,
  type WireRequest,
  type WireResponse,
} from "./transport.js";

/**
 * One request and its answer, whichever way it travels: keeps the time, the size limit and the lifetime of the call, and
 * settles once.
 */
export class Exchange {
  readonly answer: Promise<WireResponse>;
  /** Whether any of the request may have left. */
  sent = false;
  over = false;
  /** Stops what is under way on the wire. */
  cancel: (() => void) | undefined;
  readonly #request: WireRequest;
  readonly #timing: Timing = { startedAt: performance.now() };
  readonly #stopWatching: (() => void)[];
  #head: { status: number; headers: Record<string, string> } | undefined;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #resolve!: (response: WireResponse | Promise<WireResponse>) => void;
  #reject!: (failure: TransportFailure) => void;

  constructor(request: WireRequest) {
    this.#request = request;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#stopWatching = [
      startTimer(request.timeoutMs, () => this.fail({ kind: "timeout" })),
      request.lifetime.onEnd(() => this.fail({ kind: "ended" })),
    ];
    if (request.lifetime.ending) this.fail({ kind: "ended" });
  }

  /** The head of the answer has come. */
  begin(status: number, headers: Record<string, string>): void {
    this.#timing.headAt = performance.now();
    this.#head = { status, headers };
    if (Number(headers["content-length"]) > this.#request.maxResponseBytes) this.fail({ kind: "too large" });
  }

  /** A piece of the body has come. */
  add(chunk: Uint8Array): void {
    if (this.over) return;
    this.#bytes += chunk.byteLength;
    // A caller's fetch function may give anything.
    if (!types.isUint8Array(chunk)) this.fail({ kind: "undecodable", cause: new TypeError("the body is not bytes") });
    else if (this.#bytes > this.#request.maxResponseBytes) this.fail({ kind: "too large" });
    else this.#chunks.push(chunk);
  }

  /** The body is complete; `encoding` tells how it is coded. */
  complete(encoding: string | undefined): void {
    const head = this.#head;
    if (this.over || !head) return;
    this.#finish();
    const [only] = this.#chunks;
    const raw = this.#chunks.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(this.#chunks);
    const answer = (body: Buffer) => ({ status: head.status, headers: head.headers, body, timing: this.#timing });
    if (encoding === undefined) this.#resolve(answer(raw));
    else {
      const decoded = decompress(raw, encoding, this.#request.maxResponseBytes).then(answer, (error: unknown) => {
        throw this.#failure(isTooLarge(error) ? { kind: "too large" } : { kind: "undecodable", cause: error });
      });
      this.#resolve(decoded);
    }
  }

  fail(reason: TransportReason): void {
    if (this.over) return;
    this.#finish();
    this.cancel?.();
    this.#reject(this.#failure(reason));
  }

  #failure(reason: TransportReason): TransportFailure {
    return new TransportFailure(reason, this.sent, this.#head, this.#timing);
  }

  #finish(): void {
    this.over = true;
    for (const stop of this.#stopWatching) stop();
  }
}
