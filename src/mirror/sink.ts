import type { MirrorRecord, MirrorResource } from "./tables.js";

/** What is written together: all of it, or nothing. */
export interface MirrorBatch {
  /** Which records these are. */
  resource: MirrorResource;
  /** Records to be kept, each once; one with a key that the copy has replaces the one there. */
  upsert: readonly MirrorRecord[];
  /** Keys of records to be dropped. One that the copy does not have is passed over. */
  remove: readonly number[];
  /** What was saved last, `undefined` for a new copy. Where something else is found, another mirror writes to the copy. */
  previousState: string | undefined;
  /** To be saved in the same transaction: how far the mirror has come. */
  state: string;
}

/**
 * Where a copy is kept. Records are told apart by `recNo` (lots) and `partNo` (items, stock levels).
 *
 * A mirror opens it at the beginning of each run and closes it at the end, also after an error. In between it calls one
 * method at a time and waits for it.
 */
export interface MirrorSink {
  /** Makes the copy ready, a new one where there is none, and gives the state that the last commit saved. */
  open(): Promise<string | undefined>;
  /** The keys that the copy has, in batches, in any order. Nothing is written meanwhile. */
  keys(resource: MirrorResource): AsyncIterable<readonly number[]>;
  /**
   * The records that the copy has for these keys, in any order. Each as it was given, except that a documented field that
   * it lacked is `null`.
   */
  read(resource: MirrorResource, keys: readonly number[]): Promise<MirrorRecord[]>;
  /**
   * Writes a batch in one transaction.
   *
   * @throws when the saved state is not `previousState`: two mirrors write to one copy. Nothing is written then.
   */
  commit(batch: MirrorBatch): Promise<void>;
  /** Lets go of files and connections that the sink opened itself; a second time it does nothing. */
  close(): Promise<void>;
}
