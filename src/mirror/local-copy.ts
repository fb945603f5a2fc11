import { ResponseValidationError } from "../errors/index.js";
import { isObject } from "../errors/unknown-value.js";
import { changesBetween, changesLotsToo, changesOnlyDenormalized, type MirrorEvent } from "./events.js";
import type { MirrorOptions } from "./options.js";
import type { MirrorSink } from "./sink.js";
import { formatState, type ListState, type MirrorState, NEW_RESOURCE, type PendingEvent, parseState } from "./state.js";
import { type MirrorRecord, type MirrorRecords, type MirrorResource, tableOf } from "./tables.js";

type OnEvent = NonNullable<MirrorOptions["onEvent"]>;

/** What writing a batch of records changed in the copy. */
export interface WriteResult {
  added: number;
  changed: number;
  /** Keys of all records of the batch, in their order. */
  keys: number[];
  /** Keys of the records that the service must count as modified since the copy had them last. */
  expectedInIncrement: number[];
}

/** Records that are removed in one commit. */
const REMOVE_BATCH_SIZE = 500;

/** Levels of arrays and objects within a record: far more than any record needs, and fewer than SQL's JSON functions allow. */
const MAX_NESTING = 500;

/**
 * The copy in a sink, as one run uses it. Each commit writes records, the state that belongs to them, and their events; then
 * the listener receives the events. After a crash between the two the next run reads the events back. So a listener receives
 * each event at least once, and the copy has what it reports.
 */
export class LocalCopy {
  readonly #sink: MirrorSink;
  readonly #onEvent: OnEvent | undefined;
  #savedState: string | undefined;
  #hasWritten = false;
  #state: MirrorState;

  private constructor(sink: MirrorSink, onEvent: OnEvent | undefined, savedState: string | undefined) {
    this.#sink = sink;
    this.#onEvent = onEvent;
    this.#savedState = savedState;
    this.#state = parseState(savedState);
  }

  /** Opens the copy, and emits the events that an interrupted run may not have emitted. */
  static async open(sink: MirrorSink, onEvent: OnEvent | undefined): Promise<LocalCopy> {
    const copy = new LocalCopy(sink, onEvent, await sink.open());
    await copy.#emitPending();
    return copy;
  }

  /** True if another process has written to the copy since it was opened, and this one has not. */
  async wasOvertaken(): Promise<boolean> {
    return !this.#hasWritten && (await this.#sink.open()) !== this.#savedState;
  }

  stateOf(resource: MirrorResource): ListState {
    return this.#state.resources[resource] ?? NEW_RESOURCE;
  }

  /** Saves progress that comes without records. */
  async save(resource: MirrorResource, statePatch: Partial<ListState>): Promise<void> {
    await this.#commit({ resource, statePatch });
  }

  /** Writes the records that are new or differ from the copy, and saves `statePatch` with them. */
  async write<R extends MirrorResource>(
    resource: R,
    records: readonly MirrorRecords[R][],
    statePatch: Partial<ListState> = {},
  ): Promise<WriteResult> {
    for (const record of records) checkNesting(resource, record);
    const keys = records.map((record) => keyOf(resource, record));
    const known = await this.#read(resource, keys);
    const upsert: MirrorRecord[] = [];
    const events: PendingEvent[] = [];
    const expectedInIncrement: number[] = [];
    let added = 0;
    let lotsAreStale = false;
    for (const record of records) {
      const key = keyOf(resource, record);
      const before = known.get(key);
      const changes = before === undefined ? [] : changesBetween(tableOf(resource), before, record);
      if (before !== undefined && changes.length === 0) continue;
      upsert.push(record);
      if (before === undefined) added += 1;
      if (before === undefined || !changesOnlyDenormalized(resource, changes)) expectedInIncrement.push(key);
      if (changesLotsToo(resource, changes)) lotsAreStale = true;
      events.push(before === undefined ? { type: "added", key } : { type: "changed", key, changes });
    }
    const count = this.stateOf(resource).count + added;
    if (upsert.length > 0 || Object.keys(statePatch).length > 0) {
      await this.#commit({ resource, upsert, events, statePatch: { ...statePatch, count }, lotsAreStale });
    }
    return { added, changed: upsert.length - added, keys, expectedInIncrement };
  }

  /** Removes records, and returns how many the copy had. */
  async remove(resource: MirrorResource, keys: readonly number[]): Promise<number> {
    let removed = 0;
    for (let start = 0; start < keys.length; start += REMOVE_BATCH_SIZE) {
      const records = await this.#read(resource, keys.slice(start, start + REMOVE_BATCH_SIZE));
      const events = [...records].map(([key, record]): PendingEvent => ({ type: "removed", key, record }));
      const count = this.stateOf(resource).count - records.size;
      await this.#commit({ resource, remove: [...records.keys()], events, statePatch: { count } });
      removed += records.size;
    }
    return removed;
  }

  /** Counts the records of the copy, and returns the keys of those that were not seen. */
  async unseenKeys(resource: MirrorResource, isSeen: (key: number) => boolean): Promise<number[]> {
    const unseen: number[] = [];
    let count = 0;
    for await (const keys of this.#sink.keys(resource)) {
      count += keys.length;
      unseen.push(...keys.filter((key) => !isSeen(key)));
    }
    if (count !== this.stateOf(resource).count) await this.save(resource, { count });
    return unseen;
  }

  async #read(resource: MirrorResource, keys: readonly number[]): Promise<Map<number, MirrorRecord>> {
    const records = keys.length === 0 ? [] : await this.#sink.read(resource, keys);
    return byKey(resource, records);
  }

  async #commit({
    resource,
    upsert = [],
    remove = [],
    events = [],
    statePatch,
    lotsAreStale = false,
  }: Commit): Promise<void> {
    const next: MirrorState = {
      resources: {
        ...this.#state.resources,
        ...(lotsAreStale && { lots: { ...this.stateOf("lots"), stale: true } }),
        [resource]: { ...this.stateOf(resource), ...statePatch },
      },
      pendingEvents: this.#onEvent !== undefined && events.length > 0 ? { resource, events: [...events] } : undefined,
    };
    const state = formatState(next);
    await this.#sink.commit({ resource, upsert, remove, previousState: this.#savedState, state });
    this.#hasWritten = true;
    this.#savedState = state;
    this.#state = next;
    if (next.pendingEvents) await this.#emit(resource, events, byKey(resource, upsert));
  }

  /** One after the other: a slow listener slows the run down. */
  async #emit(
    resource: MirrorResource,
    events: readonly PendingEvent[],
    records: ReadonlyMap<number, MirrorRecord>,
  ): Promise<void> {
    for (const pending of events) {
      const event = completeEvent(resource, pending, records);
      if (event !== undefined) await this.#onEvent?.(event);
    }
  }

  async #emitPending(): Promise<void> {
    const { pendingEvents } = this.#state;
    if (pendingEvents === undefined) return;
    const { resource, events } = pendingEvents;
    const keys = events.flatMap(({ type, key }) => (type === "removed" ? [] : [key]));
    await this.#emit(resource, events, await this.#read(resource, keys));
  }
}

interface Commit {
  resource: MirrorResource;
  upsert?: readonly MirrorRecord[];
  remove?: readonly number[];
  events?: readonly PendingEvent[];
  /** What changes in the state of the resource. */
  statePatch: Partial<ListState>;
  lotsAreStale?: boolean;
}

/** The event with its record. `undefined` if another mirror has removed the record since an interrupted run wrote it. */
function completeEvent(
  resource: MirrorResource,
  pending: PendingEvent,
  records: ReadonlyMap<number, MirrorRecord>,
): MirrorEvent | undefined {
  const record = pending.type === "removed" ? pending.record : records.get(pending.key);
  if (record === undefined) return undefined;
  const { type } = pending;
  const event = type === "changed" ? { type, resource, record, changes: pending.changes } : { type, resource, record };
  // The compiler cannot follow the type of the record through the map.
  return event as MirrorEvent;
}

const byKey = (resource: MirrorResource, records: readonly MirrorRecord[]) =>
  new Map(records.map((record) => [keyOf(resource, record), record]));

/** The key of a record. A record without one cannot be stored. */
function keyOf(resource: MirrorResource, record: MirrorRecord): number {
  const { key } = tableOf(resource);
  const value: unknown = Reflect.get(record, key);
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw new ResponseValidationError(`mirror: a record of ${resource} has no ${key}`, {
    status: 200,
    issues: [{ path: [key], message: "must be an integer" }],
  });
}

/** Comparing or writing a record that is nested deeper could overflow the stack, and SQL could not query it. */
function checkNesting(resource: MirrorResource, record: MirrorRecord): void {
  let level: object[] = [record];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_NESTING) {
      const { key } = tableOf(resource);
      throw new ResponseValidationError(
        `mirror: the record of ${resource} with ${key} ${Reflect.get(record, key)} is nested deeper than ${MAX_NESTING} levels`,
        { status: 200, issues: [{ path: [], message: `must not be nested deeper than ${MAX_NESTING} levels` }] },
      );
    }
    level = level.flatMap((value) => Object.values(value).filter(isObject));
  }
}
