import { isObject } from "../errors/field-of.js";
import { ResponseValidationError } from "../errors/index.js";
import type { MirrorEvent } from "./events.js";
import { changesBetween, changesDenormalized, changesOnlyDenormalized } from "./events.js";
import type { MirrorOptions } from "./options.js";
import type { MirrorSink } from "./sink.js";
import { type MirrorState, NEW_RESOURCE, type PendingEvent, parseState, type ResourceState } from "./state.js";
import { type MirrorRecord, type MirrorRecords, type MirrorResource, TABLES } from "./tables.js";

type OnEvent = NonNullable<MirrorOptions["onEvent"]>;

/** What a batch of records did to the copy. */
export interface Written {
  added: number;
  changed: number;
  /** Keys of all records of the batch, in their order. */
  keys: number[];
  /** Keys of the records that the service must count as modified since the copy had them last. */
  expectedInIncrement: number[];
}

/** Levels of arrays and objects within a record: far more than any record needs, and fewer than SQL's JSON functions take. */
const MAX_NESTING = 500;

/** How many records are removed at once. */
const REMOVE_BATCH_SIZE = 500;

/**
 * The copy, as one run sees it: records go in with the state that goes with them, and what happened to them is told
 * afterwards.
 *
 * What is to be told is saved with the records. So it is told at least once, also after a crash between the two, and what a
 * listener is told of is in the copy.
 */
export class LocalCopy {
  readonly #sink: MirrorSink;
  readonly #onEvent: OnEvent | undefined;
  #saved: string | undefined;
  #hasWritten = false;
  #state: MirrorState;

  private constructor(sink: MirrorSink, onEvent: OnEvent | undefined, saved: string | undefined) {
    this.#sink = sink;
    this.#onEvent = onEvent;
    this.#saved = saved;
    this.#state = parseState(saved);
  }

  /** Opens the copy and tells what an interrupted run did not. */
  static async open(sink: MirrorSink, onEvent: OnEvent | undefined): Promise<LocalCopy> {
    const copy = new LocalCopy(sink, onEvent, await sink.open());
    await copy.#tellRest();
    return copy;
  }

  /** True if nothing was written here, and something elsewhere since the copy was opened: by a process that was killed, say. */
  async wasOvertaken(): Promise<boolean> {
    return !this.#hasWritten && (await this.#sink.open()) !== this.#saved;
  }

  stateOf(resource: MirrorResource): ResourceState {
    return this.#state.resources[resource] ?? NEW_RESOURCE;
  }

  /** Saves what was statePatch without new records. */
  async save(resource: MirrorResource, statePatch: Partial<ResourceState>): Promise<void> {
    await this.#commit({ resource, statePatch });
  }

  /** Puts in those records that are new or differ from what is there. `statePatch` is saved with them. */
  async write<R extends MirrorResource>(
    resource: R,
    records: readonly MirrorRecords[R][],
    statePatch: Partial<ResourceState> = {},
  ): Promise<Written> {
    const keys = records.map((record) => keyOf(resource, record));
    for (const record of records) checkNesting(resource, record);
    const known = await this.#read(resource, keys);
    const upsert: MirrorRecord[] = [];
    const notices: PendingEvent[] = [];
    const expectedInIncrement: number[] = [];
    let added = 0;
    let lotsAreStale = false;
    for (const record of records) {
      const key = keyOf(resource, record);
      const before = known.get(key);
      const changes = before === undefined ? [] : changesBetween(TABLES[resource], before, record);
      if (before !== undefined && changes.length === 0) continue;
      upsert.push(record);
      if (before === undefined) added += 1;
      if (before === undefined || !changesOnlyDenormalized(resource, changes)) expectedInIncrement.push(key);
      if (changesDenormalized(resource, changes)) lotsAreStale = true;
      notices.push(before === undefined ? { type: "added", key } : { type: "changed", key, changes });
    }
    const count = this.stateOf(resource).count + added;
    if (upsert.length > 0 || Object.keys(statePatch).length > 0) {
      await this.#commit({ resource, upsert, notices, statePatch: { ...statePatch, count }, lotsAreStale });
    }
    return { added, changed: upsert.length - added, keys, expectedInIncrement };
  }

  /** Drops records, and gives how many there were. */
  async remove(resource: MirrorResource, keys: readonly number[]): Promise<number> {
    let removed = 0;
    for (let start = 0; start < keys.length; start += REMOVE_BATCH_SIZE) {
      const records = await this.#read(resource, keys.slice(start, start + REMOVE_BATCH_SIZE));
      const notices = [...records].map(([key, record]): PendingEvent => ({ type: "removed", key, record }));
      const count = this.stateOf(resource).count - records.size;
      await this.#commit({ resource, remove: [...records.keys()], notices, statePatch: { count } });
      removed += records.size;
    }
    return removed;
  }

  /** Counts what the copy has, and gives the keys that `isSeen` does not know. */
  async keysWithout(resource: MirrorResource, isSeen: (key: number) => boolean): Promise<number[]> {
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
    return new Map(records.map((record) => [keyOf(resource, record), record]));
  }

  async #commit({
    resource,
    upsert = [],
    remove = [],
    notices = [],
    statePatch,
    lotsAreStale = false,
  }: Commit): Promise<void> {
    const { version, resources } = this.#state;
    const tells = this.#onEvent !== undefined && notices.length > 0;
    const next: MirrorState = {
      version,
      resources: {
        ...resources,
        ...(lotsAreStale ? { lots: { ...this.stateOf("lots"), stale: true } } : {}),
        [resource]: { ...this.stateOf(resource), ...statePatch },
      },
      ...(tells ? { untold: { resource, notices: [...notices] } } : {}),
    };
    const state = JSON.stringify(next);
    await this.#sink.commit({ resource, upsert, remove, previousState: this.#saved, state });
    this.#hasWritten = true;
    this.#saved = state;
    this.#state = next;
    if (tells) await this.#tell(resource, notices, new Map(upsert.map((record) => [keyOf(resource, record), record])));
  }

  /** One after the other: a listener that takes its time holds the run up. */
  async #tell(
    resource: MirrorResource,
    notices: readonly PendingEvent[],
    records: ReadonlyMap<number, MirrorRecord>,
  ): Promise<void> {
    for (const notice of notices) {
      const event = eventOf(resource, notice, records);
      if (event !== undefined) await this.#onEvent?.(event);
    }
  }

  async #tellRest(): Promise<void> {
    const { untold } = this.#state;
    if (untold === undefined) return;
    const { resource, notices } = untold;
    const keys = notices.flatMap(({ type, key }) => (type === "removed" ? [] : [key]));
    await this.#tell(resource, notices, await this.#read(resource, keys));
  }
}

interface Commit {
  resource: MirrorResource;
  upsert?: readonly MirrorRecord[];
  remove?: readonly number[];
  notices?: readonly PendingEvent[];
  /** What is now known of the resource. */
  statePatch: Partial<ResourceState>;
  lotsAreStale?: boolean;
}

/** What is told of a notice. Nothing, where an interrupted run told of a record and another mirror has removed it since. */
function eventOf(
  resource: MirrorResource,
  notice: PendingEvent,
  records: ReadonlyMap<number, MirrorRecord>,
): MirrorEvent | undefined {
  const record = notice.type === "removed" ? notice.record : records.get(notice.key);
  if (record === undefined) return undefined;
  const { type } = notice;
  const event = type === "changed" ? { type, resource, record, changes: notice.changes } : { type, resource, record };
  // The records of a resource are of its type, which the compiler cannot follow through the maps.
  return event as MirrorEvent;
}

/** What tells a record from others. Without it a record cannot be kept. */
function keyOf(resource: MirrorResource, record: MirrorRecord): number {
  const { key } = TABLES[resource];
  const value: unknown = Reflect.get(record, key);
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw new ResponseValidationError(`mirror: a record of ${resource} has no ${key}`, {
    status: 200,
    issues: [{ path: [key], message: "must be a whole number" }],
  });
}

/** Deeper ones would overflow the stack where records are compared and written, or could not be queried. */
function checkNesting(resource: MirrorResource, record: MirrorRecord): void {
  let level: object[] = [record];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_NESTING) {
      throw new ResponseValidationError(
        `mirror: the record of ${resource} with ${TABLES[resource].key} ${keyOf(resource, record)} is nested deeper than ${MAX_NESTING} levels`,
        { status: 200, issues: [{ path: [], message: `must not be nested deeper than ${MAX_NESTING} levels` }] },
      );
    }
    level = level.flatMap((value) => Object.values(value).filter(isObject));
  }
}
