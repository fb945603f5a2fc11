import { keyOf, type MirrorKey, type MirrorRecord, type MirrorResource, tableOf } from "../tables.js";
import type { AbortableSink } from "./abortable-sink.js";
import { compareWithCopy, type MirrorEvent } from "./events.js";
import { type MirrorList, mirrorListOf, recordNumberInList, recordNumberOf, resourceKeyOf } from "./lists.js";
import {
  type CopyClient,
  countsAfter,
  type ListState,
  type MirrorState,
  NEW_LIST_STATE,
  type PendingEvent,
  parseMirrorState,
  stateForClient,
} from "./state.js";
import { createStatusRows } from "./status.js";

type OnMirrorEvent = (event: MirrorEvent) => unknown;

/** The changes of the copy by a batch of records. */
export interface WriteResult {
  added: number;
  changed: number;
  /** Numbers of the records that the service must count as modified since the copy had them last. */
  expectedInIncrement: number[];
}

/** Records that are removed in one commit. */
const REMOVAL_BATCH_SIZE = 500;

/**
 * The copy in a sink, as one run uses it. Each commit writes records, the state that belongs to them, and their events; then
 * the listener receives the events. After a crash between the two the next run reads the events back. So a listener receives
 * each event at least once, and the copy has what it reports.
 *
 * A record is identified by its number within its list, see `MirrorList`.
 */
export class LocalCopy {
  readonly #sink: AbortableSink;
  readonly #onEvent: OnMirrorEvent | undefined;
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
    this.#onEvent = onEvent;
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
    await this.#commit({ resource: list.resource, lists: this.#patched(list, statePatch) });
  }

  /** Saves how the run ended, also after an abort. */
  async endRun(lastRun: NonNullable<MirrorState["lastRun"]>): Promise<void> {
    this.#sink.beginEnd();
    await this.#commit({ lastRun });
  }

  /** Emits the events that an interrupted run may not have emitted. */
  async emitPending(): Promise<void> {
    const { pendingEvents } = this.#state;
    if (pendingEvents === undefined) return;
    const { resource, events } = pendingEvents;
    const keys = events.flatMap(({ type, key }) => (type === "removed" ? [] : [key]));
    await this.#emit(resource, events, await this.#read(resource, keys));
  }

  /** Writes the records that are new or differ from the copy, and saves `statePatch` with them. */
  async write(
    list: MirrorList,
    records: readonly MirrorRecord[],
    statePatch: Partial<ListState> = {},
  ): Promise<WriteResult> {
    const { resource } = list;
    const keys = records.map((record) => resourceKeyOf(list, recordNumberOf(resource, record)));
    const known = await this.#read(resource, keys);
    const { upsert, events, added, lotsAreStale, expectedInIncrement } = compareWithCopy(list, records, known);
    if (upsert.length > 0 || Object.keys(statePatch).length > 0) {
      const lists = this.#patched(list, { ...statePatch, ...countsAfter(this.stateOf(list), added) });
      const lots = mirrorListOf("lots");
      if (lotsAreStale) lists[lots.id] = { ...this.stateOf(lots), stale: true };
      await this.#commit({ resource, upsert, events, lists });
    }
    return { added, changed: upsert.length - added, expectedInIncrement };
  }

  /** Removes records, and returns how many the copy had. */
  async remove(list: MirrorList, numbers: readonly number[]): Promise<number> {
    let removed = 0;
    for (let start = 0; start < numbers.length; start += REMOVAL_BATCH_SIZE) {
      const keys = numbers.slice(start, start + REMOVAL_BATCH_SIZE).map((number) => resourceKeyOf(list, number));
      const records = await this.#read(list.resource, keys);
      const events = [...records].map(([key, record]): PendingEvent => ({ type: "removed", key, record }));
      const lists = this.#patched(list, countsAfter(this.stateOf(list), -records.size));
      await this.#commit({ resource: list.resource, remove: [...records.keys()], events, lists });
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

  #patched(list: MirrorList, statePatch: Partial<ListState>): Record<string, ListState> {
    return { ...this.#state.lists, [list.id]: { ...this.stateOf(list), ...statePatch } };
  }

  async #read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<Map<MirrorKey, MirrorRecord>> {
    const records = keys.length === 0 ? [] : await this.#sink.read(resource, keys);
    return indexByKey(resource, records);
  }

  /** A batch names a resource, even if it changes nothing of it. Events that were not emitted yet stay in the state. */
  async #commit({ resource = "items", upsert = [], remove = [], events = [], ...patch }: Commit): Promise<void> {
    const next: MirrorState = { ...this.#state, ...patch, mirrored: this.#lists.map(({ id }) => id) };
    if (this.#onEvent !== undefined && events.length > 0) next.pendingEvents = { resource, events: [...events] };
    const state = JSON.stringify(next);
    const status = createStatusRows(next, this.#lists);
    await this.#sink.commit({ resource, upsert, remove, previousState: this.#savedState, state, status });
    this.#hasWritten = true;
    this.#savedState = state;
    this.#state = next;
    await this.#emit(resource, events, indexByKey(resource, upsert));
  }

  /** One after the other, so a slow listener slows the run down. */
  async #emit(
    resource: MirrorResource,
    events: readonly PendingEvent[],
    records: ReadonlyMap<MirrorKey, MirrorRecord>,
  ): Promise<void> {
    if (events.length === 0) return;
    for (const pending of events) {
      const event = completeEvent(resource, pending, records);
      if (event !== undefined) await this.#onEvent?.(event);
    }
    this.#state = { ...this.#state, pendingEvents: undefined };
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
  resource?: MirrorResource;
  upsert?: readonly MirrorRecord[];
  remove?: readonly MirrorKey[];
  events?: readonly PendingEvent[];
}

/** The event with its record. `undefined` if another mirror has removed the record since an interrupted run wrote it. */
function completeEvent(
  resource: MirrorResource,
  pending: PendingEvent,
  records: ReadonlyMap<MirrorKey, MirrorRecord>,
): MirrorEvent | undefined {
  const { type, key } = pending;
  const record = pending.type === "removed" ? pending.record : records.get(key);
  if (record === undefined) return undefined;
  const event =
    type === "changed" ? { type, resource, key, record, changes: pending.changes } : { type, resource, key, record };
  // The compiler cannot follow the type of the record through the map.
  return event as MirrorEvent;
}

const indexByKey = (resource: MirrorResource, records: readonly MirrorRecord[]) =>
  new Map(records.map((record) => [keyOf(tableOf(resource), record), record]));
