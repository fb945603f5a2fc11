import { keyOf, type MirrorKey, type MirrorRecord, type MirrorResource, RESOURCES, tableOf } from "../tables.js";
import type { AbortableSink } from "./abortable-sink.js";
import { eventOf, type MirrorEvent } from "./events.js";
import type { HistoryState, RecordChange } from "./history.js";

export type OnMirrorEvent = (event: MirrorEvent) => unknown;

/** A change to emit; with its number if it is a row of the history. */
export type LocatedChange = RecordChange & { resource: MirrorResource; seq?: number };

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
      const { type, resource, key, before } = change;
      const record =
        type === "removed"
          ? recordOf(before)
          : (records.get(idOf(resource, key)) ?? (await this.#removedRecord(change)));
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

  /** The records that were added or changed, as they are now. */
  async #currentRecords(changes: readonly LocatedChange[]): Promise<ReadonlyMap<string, MirrorRecord>> {
    const found = new Map<string, MirrorRecord>();
    for (const resource of RESOURCES) {
      const ofResource = changes.filter((change) => change.resource === resource && change.type !== "removed");
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
      if (removal) return recordOf(removal.before);
    }
    return undefined;
  }
}

/** The whole record that a row has of a removed one. */
const recordOf = (fields: RecordChange["before"]) => (fields as MirrorRecord | null | undefined) ?? undefined;

const idOf = (resource: MirrorResource, key: MirrorKey) => `${resource}/${key}`;

const indexed = (resource: MirrorResource, records: readonly MirrorRecord[]) =>
  new Map(records.map((record) => [idOf(resource, keyOf(tableOf(resource), record)), record]));
