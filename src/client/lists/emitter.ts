import { appendCheckpointKeys, type Checkpoint } from "./checkpoint.js";
import type { IterationSession, Page } from "./page.js";
import { type RecordKey, SeenKeys } from "./seen-keys.js";

/** How far a list has been read. */
export type ReadPosition = Pick<Checkpoint, "end" | "totalCount" | "pageSize">;

/** A page for the consumer, and the checkpoint that applies once the consumer has processed it. */
export interface EmittedPage<T> {
  page: Page<T>;
  checkpoint: Checkpoint;
}

/** Emits the records of an iteration, each of them once, and reports progress. */
export class PageEmitter<T> {
  readonly #session: IterationSession<T>;
  readonly #stream: { readonly requests: number };
  readonly #seen = new SeenKeys();
  /** Keys of the records emitted last. */
  #lastKeys: RecordKey[];
  #received = 0;
  #duplicates = 0;
  #gapsRepaired = 0;

  constructor(session: IterationSession<T>, stream: { readonly requests: number }) {
    this.#session = session;
    this.#stream = stream;
    this.#lastKeys = session.from?.keys ?? [];
    for (const key of this.#lastKeys) this.#seen.add(key);
  }

  /** True if records have keys, by which they are recognised. */
  get hasKeys(): boolean {
    return this.#session.keyOf !== undefined;
  }

  keyOf(record: T): RecordKey | undefined {
    return this.#session.keyOf?.(record);
  }

  isSeen(record: T): boolean {
    const key = this.keyOf(record);
    return key !== undefined && this.#seen.has(key);
  }

  /** The records, from the index `from`, that were not seen before. From now on they are. */
  takeUnseen(records: T[], from = 0): T[] {
    if (!this.hasKeys) return records.slice(from);
    return records.filter((record, index) => {
      const isAfter = index >= from;
      const key = this.keyOf(record);
      // A record without a key cannot be recognised.
      if (key === undefined) return isAfter;
      const isNew = isAfter ? this.#seen.add(key) : !this.#seen.has(key);
      if (!isNew) this.#duplicates += 1;
      return isNew && isAfter;
    });
  }

  /** Counts that pages are read again, or searched for, because records have moved. */
  countGapRepair(): void {
    this.#gapsRepaired += 1;
  }

  /** The page for the consumer, with `newRecords` as its records. Once it is consumed, the list has been read up to `position`. */
  emit(page: Page<T>, newRecords: T[], position: ReadPosition): EmittedPage<T> {
    this.#received += newRecords.length;
    this.#lastKeys = appendCheckpointKeys(
      this.#lastKeys,
      newRecords.map((record) => this.keyOf(record)),
    );
    this.#reportProgress(page, position);
    const { end, totalCount, pageSize } = position;
    const { list } = this.#session;
    return {
      page: { ...page, value: newRecords },
      checkpoint: { version: 1, list, done: false, end, totalCount, pageSize, keys: this.#lastKeys },
    };
  }

  #reportProgress({ totalCount, page, pageCount, hasMore }: Page<T>, { end, pageSize }: ReadPosition): void {
    this.#session.onProgress?.({
      received: this.#received,
      totalCount,
      page,
      pageCount,
      requests: this.#stream.requests,
      duplicates: this.#duplicates,
      gapsRepaired: this.#gapsRepaired,
      etaMs: this.#session.eta.remainingMs(hasMore ? Math.max(0, totalCount - end) : 0, pageSize),
    });
  }
}
