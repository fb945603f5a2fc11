import type { ChangesQuery, MirrorChange } from "./copy/history.js";
import type { MirrorStatusRow } from "./copy/status.js";
import type { MirrorKey, MirrorRecord, MirrorRecords, MirrorResource } from "./tables.js";

/** What one commit writes: all of it, or nothing. */
export interface MirrorBatch {
  /** The resource that the records belong to. */
  resource: MirrorResource;
  /** Records to insert, or to replace by key. Each key occurs once. */
  upsert: readonly MirrorRecord[];
  /** Keys of records to delete. Keys that the copy does not have are ignored. */
  remove: readonly MirrorKey[];
  /**
   * The state that this mirror saved last, `undefined` for a new copy. If the sink has another state, another mirror
   * writes to the copy.
   */
  previousState: string | undefined;
  /** The progress of the mirror, saved in the same SQL transaction. */
  state: string;
  /** Rows for the table `changes`, in ascending order of `seq`. Only if the copy has a history. */
  changes?: readonly MirrorChange[];
  /**
   * Before `changes` are added: the rows of the table `changes` up to the first that is not older than this time are
   * removed.
   */
  expireChanges?: string;
  /** The status of the copy for its readers: one row per resource. A sink may ignore it. */
  status?: readonly MirrorStatusRow[];
}

/** How a sink is opened. */
export interface SinkOpenOptions {
  /**
   * Aborts when the run is aborted. The mirror then stops waiting for calls in progress, so the sink should end them: a
   * commit either completely or not at all. A commit that needs no wait is still accepted; it saves how the run ended.
   * @default none
   */
  signal?: AbortSignal | undefined;
}

/**
 * Stores a copy. Records are identified by `recNo` (lots), by `partNo` (items, stock levels), or by the string
 * `"wID/partNo"` (stock levels per warehouse; each record has both fields).
 *
 * A mirror opens the sink at the beginning of each run and closes it at the end, also after an error. In between it calls one
 * method at a time.
 */
export interface MirrorSink {
  /** Opens the copy, creates one if there is none, and returns the state that the last commit saved. */
  open(options?: SinkOpenOptions): Promise<string | undefined>;
  /** All keys of the copy, in batches, in any order. The mirror writes nothing meanwhile. */
  keys(resource: MirrorResource): AsyncIterable<readonly MirrorKey[]>;
  /**
   * The records with these keys, in any order. Each is returned as it was committed, except that a documented field
   * that it lacked is `null`.
   */
  read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]>;
  /**
   * Writes a batch in one SQL transaction.
   *
   * @throws when the saved state is not `previousState`: two mirrors write to one copy. Then nothing is written.
   */
  commit(batch: MirrorBatch): Promise<void>;
  /** Closes files and connections that the sink opened itself. A second call does nothing. */
  close(): Promise<void>;
  /**
   * Returns the state that the last commit saved, for `mirror.status()`. Called without `open()`, also while another
   * process writes. It must not write anything. Optional: without it, `status()` opens and closes the copy.
   */
  readState?(): Promise<string | undefined>;
  /**
   * Opens the copy for `openCopy`, without `open()`, also while another process writes. `undefined` if there is no copy;
   * none is created. Optional: without it, `openCopy` rejects the sink.
   */
  openReader?(): Promise<MirrorReader | undefined>;
  /**
   * Rows of the table `changes` in ascending order of `seq`, in batches. Optional: a sink with it supports the option
   * `history`, and its `commit` writes `changes` and `expireChanges`.
   */
  changes?(query: ChangesQuery): AsyncIterable<readonly MirrorChange[]>;
}

/** A copy that is read by {@link openCopy}. It writes nothing, and no SQL transaction outlasts a call. */
export interface MirrorReader {
  /** The state that the last commit saved; `undefined` if there is none. */
  readState(): Promise<string | undefined>;
  /**
   * The records with these values of their fields, in batches, in any order. A `shortID` is compared without regard to
   * surrounding spaces and case; records without one belong to the item of their `partNo`.
   */
  find<R extends MirrorResource>(
    resource: R,
    where: Readonly<Record<string, string | number>>,
  ): AsyncIterable<readonly MirrorRecords[R][]>;
  /** Rows of the table `changes` in ascending order of `seq`, in batches. */
  changes(query: ChangesQuery): AsyncIterable<readonly MirrorChange[]>;
  /** Closes files and connections that the sink opened itself. */
  close(): Promise<void>;
}
