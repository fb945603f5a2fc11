import {
  type NewEntry,
  type OutboxState,
  type OutboxStore,
  type StoredEntry,
  type StoredJson,
  unsettledOf,
} from "./store.js";

/*
 * Files of writes: what the command stores beside entries. Only the stores in SQL databases have it, since the command uses
 * no others.
 */

/** A file of writes that is imported. */
export interface NewDelivery {
  /** Each name is used once. */
  name: string;
  /** The name of the file, without its folder. */
  file: string;
  /** SHA-256 of its writes: operations and inputs, in order. */
  digest: string;
  /** Number of writes. */
  lines: number;
  /** When it was recorded, in ms since the epoch. */
  begunAt: number;
}

/** A delivery as it is stored. */
export interface StoredDelivery extends NewDelivery {
  /** Its entries by state, pruned ones included. States that no entry is in are left out. */
  entries: Partial<Record<OutboxState, number>>;
}

/** Whether every line of a delivery is settled. Its lines are stored together with it. */
export const isComplete = ({ entries }: StoredDelivery): boolean => unsettledOf(entries) === 0;

/** Whether `other`, which has the file name or the writes of a delivery, must be finished before that begins. */
export const isInTheWay = (other: StoredDelivery, { name }: NewDelivery): boolean =>
  other.name !== name && !isComplete(other);

/** A write that is added, perhaps as a line of a delivery. */
export interface NewLine extends NewEntry {
  /** The name of the delivery. */
  delivery?: string | undefined;
}

/** Changes that are stored together, or not at all. */
export interface OutboxBatch {
  /** Entries to add, as by `add`. */
  add: readonly NewLine[];
  /** Entries that become `canceled`, if each still has this state and number of attempts. */
  cancel?: readonly EntryToCancel[] | undefined;
  /** The delivery that the added entries belong to. */
  delivery?: NewDelivery | undefined;
  /** The digest of the recorded version that this delivery corrects; left out if there must be none of its name. */
  correctsDigest?: string | undefined;
}

/** An entry that is canceled, as it was read. */
interface EntryToCancel extends Pick<StoredEntry, "key" | "state" | "attempts"> {
  /** Takes the place of its error. */
  reason?: StoredJson | undefined;
}

/** What became of an {@link OutboxBatch}. It was stored if nothing prevents it; any of these three things can. */
export interface BatchResult {
  /** Deliveries that prevent it: one of its name that it does not correct, or incomplete ones of its file or digest. */
  deliveries: StoredDelivery[];
  /** Entries to cancel that have changed since: they prevent it. */
  changed: StoredEntry[];
  /** What is stored with the key of each added entry. Another `inputHash` prevents it. */
  entries: StoredEntry[];
}

/** A store that also records deliveries. */
export interface DeliveryStore extends OutboxStore {
  /** Cancels entries, adds others and records their delivery: all of it, or nothing if something prevents it. */
  commit(batch: OutboxBatch): Promise<BatchResult>;
  /** The deliveries with this name, file or digest, the oldest first; all of them without a filter. */
  deliveries(filter?: Partial<NewDelivery>): Promise<StoredDelivery[]>;
  /** As in every store; of a `delivery` with pruned ones. */
  list(filter: Parameters<OutboxStore["list"]>[0] & { delivery?: string | undefined }): Promise<StoredEntry[]>;
}
