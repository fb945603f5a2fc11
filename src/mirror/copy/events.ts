import {
  keyOf,
  type MirrorKey,
  type MirrorKeyOf,
  type MirrorRecord,
  type MirrorRecords,
  type MirrorResource,
  RESOURCES,
  tableOf,
} from "../tables.js";
import type { AbortableSink } from "./abortable-sink.js";
import type { HistoryState, RecordChange } from "./history.js";

/** A change of one record, which the copy contains already; or a gap between such changes. */
export type MirrorEvent<R extends MirrorResource = MirrorResource> =
  | {
      [Resource in R]: MirrorEventOf<Resource>;
    }[R]
  | MirrorGap;

/**
 * Changes that the listener has not received have expired from the history of the copy, see the option `history`. Read the
 * records again. The next events are those that follow.
 */
export interface MirrorGap {
  /** Rows are missing. */
  type: "gap";
  /** A gap concerns no single record. */
  resource?: undefined;
  /** A gap concerns no single record. */
  key?: undefined;
  /** A gap concerns no single record. */
  record?: undefined;
}

/** A change of one record of one resource. */
export type MirrorEventOf<R extends MirrorResource> =
  | {
      /** The record is new in the copy. */
      type: "added";
      /** The resource that the record belongs to. */
      resource: R;
      /** Identifies the record within the resource. */
      key: MirrorKeyOf<R>;
      /** The record as it was added. A change since then is an event of its own. */
      record: MirrorRecords[R];
    }
  | {
      /** Some fields of the record have changed. */
      type: "changed";
      /** The resource that the record belongs to. */
      resource: R;
      /** Identifies the record within the resource. */
      key: MirrorKeyOf<R>;
      /** The record as it is now. */
      record: MirrorRecords[R];
      /** Each field that changed, with both values. */
      changes: FieldChange[];
    }
  | {
      /** The service no longer has the record, and it was removed from the copy. */
      type: "removed";
      /** The resource that the record belonged to. */
      resource: R;
      /** Identified the record within the resource. */
      key: MirrorKeyOf<R>;
      /** The record as the copy had it last. */
      record: MirrorRecords[R];
    };

/** One field of a record that differs from the copy. */
export interface FieldChange {
  /** Name of the field, as on the wire. */
  field: string;
  /** `undefined` if the record did not have the field. */
  before: unknown;
  /** `undefined` if the record no longer has the field. */
  after: unknown;
}

/** The event for a change. @param record The record as it is now, or as the change has it; if it is gone, as it was last. */
function eventOf(resource: MirrorResource, change: RecordChange, record: MirrorRecord): MirrorEvent {
  const { type, key, before, after } = change;
  const event = { type, resource, key, record, ...(type === "changed" && { changes: fieldChangesOf(before, after) }) };
  // The compiler cannot follow the types of resource, key and record.
  return event as MirrorEvent;
}

function fieldChangesOf(before: RecordChange["before"], after: RecordChange["after"]): FieldChange[] {
  const [was, is] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))];
  return [...new Set([...was.keys(), ...is.keys()])].map((field) => ({
    field,
    before: was.get(field),
    after: is.get(field),
  }));
}

export type OnMirrorEvent = (event: MirrorEvent) => unknown;

/** A change to emit; with its number if it is a row of the history. */
type LocatedChange = RecordChange & { resource: MirrorResource; seq?: number };

/** Calls the listener with changes that are in the copy, one after the other: a slow listener slows the run down. */
export class ChangeEmitter {
  readonly #sink: AbortableSink;
  readonly #onEvent: OnMirrorEvent;
  readonly #onDelivered: (seq: number) => void;

  /** @param onDelivered Called with the number of each row that the listener has received. */
  constructor(sink: AbortableSink, onEvent: OnMirrorEvent, onDelivered: (seq: number) => void) {
    this.#sink = sink;
    this.#onEvent = onEvent;
    this.#onDelivered = onDelivered;
  }

  /** @param known Records of the resource of the changes, as they are now; the others are read. */
  async emit(changes: readonly LocatedChange[], known?: readonly MirrorRecord[]): Promise<void> {
    const [first] = changes;
    const records = known && first ? indexed(first.resource, known) : await this.#currentRecords(changes);
    for (const change of changes) {
      const { resource, key } = change;
      const record = wholeRecordOf(change) ?? records.get(idOf(resource, key)) ?? (await this.#removedRecord(change));
      if (record) await this.#onEvent(eventOf(resource, change, record));
      if (change.seq !== undefined) this.#onDelivered(change.seq);
    }
  }

  /** Emits the rows of the history that the listener has not received, also those of other mirrors. */
  async emitHistory({ seq, delivered }: HistoryState): Promise<void> {
    let last = delivered;
    for await (const rows of this.#sink.changes({ after: delivered })) {
      if (last === delivered && rows[0] && rows[0].seq > delivered + 1) await this.#onEvent({ type: "gap" });
      await this.emit(rows);
      last = rows.at(-1)?.seq ?? last;
    }
    if (last === delivered && seq > delivered) await this.#onEvent({ type: "gap" });
    this.#onDelivered(seq);
  }

  /** The records of which the changes have only some fields, as they are now. */
  async #currentRecords(changes: readonly LocatedChange[]): Promise<ReadonlyMap<string, MirrorRecord>> {
    const found = new Map<string, MirrorRecord>();
    for (const resource of RESOURCES) {
      const ofResource = changes.filter((change) => change.resource === resource && !wholeRecordOf(change));
      const keys = [...new Set(ofResource.map(({ key }) => key))];
      if (keys.length === 0) continue;
      for (const [id, record] of indexed(resource, await this.#sink.read(resource, keys))) found.set(id, record);
    }
    return found;
  }

  /**
   * A record that was removed after this change, as it was last. Without history nothing is known of it, if another mirror
   * has removed it.
   */
  async #removedRecord({ seq, resource, key }: LocatedChange): Promise<MirrorRecord | undefined> {
    if (seq === undefined) return undefined;
    for await (const rows of this.#sink.changes({ after: seq, resource, key })) {
      const removal = rows.find(({ type }) => type === "removed");
      if (removal) return wholeRecordOf(removal);
    }
    return undefined;
  }
}

/** The record that was added or removed. Of a changed one, and without history of an added one, a change lacks it. */
function wholeRecordOf({ type, before, after }: RecordChange): MirrorRecord | undefined {
  const fields = type === "removed" ? before : type === "added" ? after : undefined;
  return (fields as MirrorRecord | null | undefined) ?? undefined;
}

const idOf = (resource: MirrorResource, key: MirrorKey) => `${resource}/${key}`;

const indexed = (resource: MirrorResource, records: readonly MirrorRecord[]) =>
  new Map(records.map((record) => [idOf(resource, keyOf(tableOf(resource), record)), record]));
