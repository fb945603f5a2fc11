import { onAbort } from "../../shared/time/abort.js";
import { afterMs, race, untilAborted } from "../../shared/time/wait.js";
import type { MirrorBatch, MirrorSink } from "../sink.js";
import type { MirrorKey, MirrorRecord, MirrorResource } from "../tables.js";
import type { ChangesQuery, MirrorChange } from "./history.js";

/** How long the end of a run waits for the sink after an abort, in ms. */
const CLOSE_TIMEOUT_MS = 5_000;

/** A sink as one run uses it: no call outlasts the signal, even if the sink hangs. */
export class AbortableSink {
  readonly #sink: MirrorSink;
  readonly #signal: AbortSignal | undefined;
  /** True if the sink did not respond before the signal aborted. */
  #isHanging = false;
  /** The time limit of calls after an abort, once the run ends. */
  #endSignal: AbortSignal | undefined;

  constructor(sink: MirrorSink, signal: AbortSignal | undefined) {
    this.#sink = sink;
    this.#signal = signal;
  }

  open(): Promise<string | undefined> {
    return this.#call(() => this.#sink.open({ signal: this.#signal }));
  }

  keys(resource: MirrorResource): AsyncGenerator<readonly MirrorKey[]> {
    return this.#batches(this.#sink.keys(resource));
  }

  async *changes(query: ChangesQuery): AsyncGenerator<readonly MirrorChange[]> {
    const { changes } = this.#sink;
    if (changes) yield* this.#batches(changes.call(this.#sink, query));
  }

  read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    return this.#call(() => this.#sink.read(resource, keys));
  }

  commit(batch: MirrorBatch): Promise<void> {
    return this.#call(() => this.#sink.commit(batch));
  }

  /** Allows calls after an abort, for a short time: the run saves how it ended. Without one they take as long as they need. */
  beginEnd(): void {
    if (this.#signal?.aborted) this.#endSignal = AbortSignal.timeout(CLOSE_TIMEOUT_MS);
  }

  /** Waits for the sink to close; after an abort only for a short time. */
  async close(): Promise<void> {
    const closing = this.#sink.close();
    if (!this.#signal?.aborted) return await closing;
    // Closing continues. A failure of it concerns only a run that was aborted anyway.
    const limit = afterMs(this.#isHanging ? 0 : CLOSE_TIMEOUT_MS, () => new Error("mirror: the sink does not close"));
    await race(closing, limit).catch(() => {});
  }

  async *#batches<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
    const batches = source[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await this.#call(() => batches.next());
      if (done) return;
      yield value;
    }
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    const signal = this.#endSignal ?? this.#signal;
    signal?.throwIfAborted();
    if (this.#isHanging) throw new Error("mirror: the sink does not respond");
    const result = call();
    return signal === undefined ? result : this.#untilAborted(result, signal);
  }

  #untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
    const stopListening = onAbort(signal, () => {
      this.#isHanging = true;
    });
    return untilAborted(signal, result).finally(stopListening);
  }
}
