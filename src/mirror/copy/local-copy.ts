import {
  keyOf,
  type MirrorKey,
  type MirrorList,
  type MirrorRecord,
  type MirrorResource,
  mirrorListOf,
  type NumberedRecord,
  recordNumberInList,
  resourceKeyOf,
  tableOf,
} from "../tables.js";
import type { AbortableSink } from "./abortable-sink.js";
import { compareWithCopy } from "./compare.js";
import { ChangeEmitter, type OnMirrorEvent } from "./events.js";
import { expireHistory, type HistoryOption, type RecordChange, recordChanges, switchedHistory } from "./history.js";
import {
  type CopyClient,
  countsAfter,
  type ListState,
  type MirrorState,
  NEW_LIST_STATE,
  parseMirrorState,
  stateForClient,
} from "./state.js";
import { createStatusRows } from "./status.js";

/** The changes of the copy by a batch of records. */
interface WriteResult {
  added: number;
  changed: number;
  /** Numbers of the records that the service must count as modified since the copy had them last. */
  expectedInIncrement: number[];
}

/** A batch names a resource. One that saves only the state names this one, and changes nothing of it. */
const ANY_LIST = mirrorListOf("items");

/** Records that are removed in one commit. */
const REMOVAL_BATCH_SIZE = 500;

/**
 * The copy in a sink, as one run uses it. Each commit writes records, the state that belongs to them, and their changes; then
 * the listener receives the changes as events. After a crash between the two the next run reads the changes back: from the
 * state, or with history from the table, which also has those that others wrote. So a listener receives each event at least
 * once, and the copy has what it reports.
 *
 * A record is identified by its number within its list, see `MirrorList`.
 */
export class LocalCopy {
  readonly #sink: AbortableSink;
  readonly #emitter: ChangeEmitter | undefined;
  readonly #lists: readonly MirrorList[];
  #savedState: string | undefined;
  #hasWritten = false;
  #state: MirrorState;

  private constructor(
    sink: AbortableSink,
    { lists, onEvent, client }: LocalCopyOptions,
    savedState: string | undefined,
  ) {
    this.#sink = sink;
    this.#lists = lists;
    this.#emitter = onEvent && new ChangeEmitter(sink, onEvent, (seq) => this.#setDelivered(seq));
    this.#savedState = savedState;
    // The first commit saves whose copy it is.
    this.#state = stateForClient(parseMirrorState(savedState), client);
  }

  static async open(sink: AbortableSink, options: LocalCopyOptions): Promise<LocalCopy> {
    return new LocalCopy(sink, options, await sink.open());
  }

  /** True if another process has written to the copy since it was opened, and this one has not. */
  async wasOvertaken(): Promise<boolean> {
    return !this.#hasWritten && (await this.#sink.open()) !== this.#savedState;
  }

  get state(): MirrorState {
    return this.#state;
  }

  stateOf({ id }: MirrorList): ListState {
    return this.#state.lists[id] ?? NEW_LIST_STATE;
  }

  /** Saves progress without records. */
  async save(list: MirrorList, statePatch: Partial<ListState>): Promise<void> {
    await this.#commit({ list, lists: this.#patched(list, statePatch) });
  }

  /** Saves how the run ended, also after an abort. */
  async endRun(lastRun: NonNullable<MirrorState["lastRun"]>): Promise<void> {
    this.#sink.beginEnd();
    await this.#commit({ lastRun, ...expireHistory(this.#state.history, Date.now()) });
  }

  /** Emits the events that were not emitted yet, and switches the history on or off. */
  async begin(history: HistoryOption): Promise<void> {
    const { pending } = this.#state;
    // Without a listener they wait for the next one.
    if (pending && this.#emitter) {
      await this.#emitter.emit(pending.changes.map((change) => ({ ...change, resource: pending.resource })));
      this.#state = { ...this.#state, pending: undefined };
    }
    const switched = switchedHistory(this.#state.history, history);
    if (switched) await this.#commit(switched);
    if (this.#state.history?.days !== undefined) await this.#emitter?.emitHistory(this.#state.history);
  }

  /** Writes the records that are new or differ from the copy, and saves `statePatch` with them. */
  async write(list: MirrorList, records: readonly NumberedRecord[]): Promise<WriteResult> {
    const keys = records.map(({ number }) => resourceKeyOf(list, number));
    const known = await this.#read(list.resource, keys);
    const { upsert, changes, added, lotsAreStale, expectedInIncrement } = compareWithCopy(list, records, known);
    if (upsert.length > 0) {
      const lists = this.#patched(list, countsAfter(this.stateOf(list), added));
      const lots = mirrorListOf("lots");
      // Without lots in the copy there is nothing to note: a saved state would say that a mirror reads them.
      if (lotsAreStale && this.#hasList(lots)) lists[lots.id] = { ...this.stateOf(lots), staleUntil: Date.now() };
      await this.#commit({ list, upsert, changes, lists });
    }
    return { added, changed: upsert.length - added, expectedInIncrement };
  }

  /** Removes records, and saves `statePatch` with the first of them. Returns how many the copy had. */
  async remove(list: MirrorList, numbers: readonly number[], statePatch: Partial<ListState> = {}): Promise<number> {
    let removed = 0;
    for (let start = 0; start < numbers.length; start += REMOVAL_BATCH_SIZE) {
      const keys = numbers.slice(start, start + REMOVAL_BATCH_SIZE).map((number) => resourceKeyOf(list, number));
      const records = await this.#read(list.resource, keys);
      const changes = [...records].map(
        ([key, record]): RecordChange => ({ type: "removed", key, before: { ...record }, after: null }),
      );
      const lists = this.#patched(list, { ...statePatch, ...countsAfter(this.stateOf(list), -records.size) });
      await this.#commit({ list, remove: [...records.keys()], changes, lists });
      removed += records.size;
    }
    return removed;
  }

  /** Removes all records of a list that is not mirrored any more, and forgets its progress. */
  async drop(list: MirrorList): Promise<number> {
    const removed = await this.remove(list, await this.numbers(list));
    const { [list.id]: _, ...lists } = this.#state.lists;
    await this.#commit({ lists });
    return removed;
  }

  /** The numbers of all records of a list, in no order. */
  async numbers(list: MirrorList): Promise<number[]> {
    const numbers: number[] = [];
    for await (const keys of this.#sink.keys(list.resource)) {
      for (const key of keys) {
        const number = recordNumberInList(list, key);
        if (number !== undefined) numbers.push(number);
      }
    }
    return numbers;
  }

  /** True if the copy has read the list, or this mirror does. */
  #hasList({ id }: MirrorList): boolean {
    return this.#state.lists[id] !== undefined || this.#lists.some((list) => list.id === id);
  }

  #patched(list: MirrorList, statePatch: Partial<ListState>): Record<string, ListState> {
    return { ...this.#state.lists, [list.id]: { ...this.stateOf(list), ...statePatch } };
  }

  async #read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<Map<MirrorKey, MirrorRecord>> {
    const table = tableOf(resource);
    const records = keys.length === 0 ? [] : await this.#sink.read(resource, keys);
    return new Map(records.map((record) => [keyOf(table, record), record]));
  }

  /** Changes that were not emitted yet can be read back. */
  async #commit(commit: Commit): Promise<void> {
    const { list = ANY_LIST, upsert = [], remove = [], changes = [], expire, ...patch } = commit;
    const { resource } = list;
    const patched = { ...this.#state, ...patch, mirrored: this.#lists.map(({ id }) => id) };
    const { history, rows } = recordChanges(patched.history, patched.lists, { list, changes, now: Date.now() });
    const next: MirrorState = { ...patched, history };
    const hasHistory = history?.days !== undefined;
    if (this.#emitter && !hasHistory && changes.length > 0)
      next.pending = { resource, changes: changes.map(toPending) };
    const state = JSON.stringify(next);
    await this.#sink.commit({
      resource,
      upsert,
      remove,
      previousState: this.#savedState,
      state,
      status: createStatusRows(next, this.#lists),
      ...(rows.length > 0 && { changes: rows }),
      ...(expire !== undefined && { expireChanges: expire }),
    });
    this.#hasWritten = true;
    this.#savedState = state;
    this.#state = next;
    if (!this.#emitter) return;
    await this.#emitter.emit(hasHistory ? rows : changes.map((change) => ({ ...change, resource })), upsert);
    this.#state = { ...this.#state, pending: undefined };
  }

  #setDelivered(delivered: number): void {
    const { history } = this.#state;
    if (history) this.#state = { ...this.#state, history: { ...history, delivered } };
  }
}

interface LocalCopyOptions {
  /** All lists of the mirror, for the status. */
  lists: readonly MirrorList[];
  onEvent: OnMirrorEvent | undefined;
  client: CopyClient;
}

/** What one commit changes; of the state, the members that it names. */
interface Commit extends Partial<MirrorState> {
  list?: MirrorList;
  upsert?: readonly MirrorRecord[];
  remove?: readonly MirrorKey[];
  changes?: readonly RecordChange[];
  expire?: string;
}

/** As it is saved in the state: the copy has the added record. */
const toPending = (change: RecordChange): RecordChange =>
  change.type === "added" ? { ...change, after: null } : change;
