import type { ServiceIdentity } from "../storage/service.js";
import type { OutboxSummary } from "./report.js";

/** The writes that an outbox accepts: methods of `client.inventory` and `client.items`. */
export type OutboxOperation = "receive" | "move" | "issue" | "create" | "update" | "discontinue";

export const OUTBOX_OPERATIONS = ["receive", "move", "issue", "create", "update", "discontinue"] as const;

const IDEMPOTENT: ReadonlySet<OutboxOperation> = new Set(["update", "discontinue"]);

/** Whether a second, identical write changes nothing, unless somebody else has written in between. */
export const isIdempotent = (operation: OutboxOperation) => IDEMPOTENT.has(operation);

/**
 * - `pending`: to be sent
 * - `sending`: an attempt was about to be sent, and its outcome is not stored yet
 * - `applied`, `rejected`: settled
 * - `canceled`: settled; it was not applied, and will never be sent
 * - `unknown`: it may have been applied; a person must decide, see `outbox.resolve`
 */
export type OutboxState = "pending" | "sending" | "applied" | "rejected" | "unknown" | "canceled";

export const OUTBOX_STATES = ["pending", "sending", "applied", "rejected", "unknown", "canceled"] as const;

/** Of an entry that still has to be sent, or decided about. */
export const UNSETTLED_STATES: readonly OutboxState[] = ["pending", "sending", "unknown"];

export const isSettled = (state: OutboxState): boolean => !UNSETTLED_STATES.includes(state);

/** How many of the entries are not settled. */
export const unsettledOf = (entries: Partial<Record<OutboxState, number>>): number =>
  UNSETTLED_STATES.reduce((sum, state) => sum + (entries[state] ?? 0), 0);

/** A JSON value as it is stored. */
export type StoredJson = string;

/** A write that is added. */
export interface NewEntry {
  /** The caller's name of the write. */
  key: string;
  /** The method to call. */
  operation: OutboxOperation;
  /** The entries of one lane, those of one item, are sent one at a time, in the order added: its SKU, trimmed and in lower case. */
  lane: string;
  /** The input that the caller passed. */
  input: StoredJson;
  /** SHA-256 of operation and input; it outlives the input when the entry is pruned. */
  inputHash: string;
  /** In ms since the epoch. */
  addedAt: number;
}

/** The part of an entry that changes. Times are by the clock of the process that wrote them. */
export interface EntryProgress {
  /** The state of the entry. */
  state: OutboxState;
  /** Number of attempts, counted before each one is sent. */
  attempts: number;
  /** The body of the request, with its mark; the same in every attempt. `null` before the first. */
  body: StoredJson | null;
  /**
   * When the first uncertain attempt was about to be sent, in ms since the epoch; `null` if there was none. An attempt
   * is uncertain unless its own response or failure showed that it was not applied.
   */
  sentAt: number | null;
  /** By how many ms the service's clock was ahead at that time, at least; `null` if that was unknown. */
  clockAheadMs: number | null;
  /** When it became `applied`, `rejected` or `canceled`, in ms since the epoch. */
  settledAt: number | null;
  /** The result of the method. */
  result: StoredJson | null;
  /** The error of the last attempt, `null` while it is in progress; or why the outcome is unknown. */
  error: StoredJson | null;
}

/** An entry as it is stored. */
export interface StoredEntry extends Omit<NewEntry, "input">, EntryProgress {
  /** Sequence number: increases in the order added. */
  sequence: number;
  /** `null` once the entry was pruned. */
  input: StoredJson | null;
}

/**
 * Whether there was an uncertain attempt, or one is in flight: {@link withoutAttempt} takes it back if its response or
 * failure shows that it was not applied. If only a look-up shows that, it still counts: the next look-up must find the
 * effect of every attempt, so `sentAt` stays the time of the first one.
 */
export const hadUncertainAttempt = ({ sentAt }: { sentAt?: number | null | undefined }): boolean =>
  typeof sentAt === "number";

/** Of an entry that had no uncertain attempt. */
export const NO_UNCERTAIN_ATTEMPT = { sentAt: null, clockAheadMs: null } as const;

/** The change that takes back an attempt that is known not to have been applied. `before`: the entry before it. */
export const withoutAttempt = ({ sentAt, clockAheadMs, error }: StoredEntry) => ({ sentAt, clockAheadMs, error });

/** Why an entry cannot be canceled; `undefined` if it can: it is known that it was not applied. */
export function whyNotCanceled(
  entry: Pick<StoredEntry, "state" | "operation"> & Parameters<typeof hadUncertainAttempt>[0],
): string | undefined {
  const { state, operation } = entry;
  if (state === "rejected" || state === "canceled") return undefined;
  if (state !== "pending") return `is ${state}, not rejected or pending`;
  return isIdempotent(operation) && hadUncertainAttempt(entry) ? "may have been applied" : undefined;
}

/** A lane that was claimed, with its next entry. */
export interface ClaimedLane {
  /** The lane. */
  lane: string;
  /** Its next entry, see {@link OutboxStore.next}. */
  entry: StoredEntry;
  /** How long ago the previous lease of the lane ended, in ms. `undefined` if there was none, or if that is unknown. */
  unleasedMs: number | undefined;
  /** How much is left of the quiet time of the lane, see {@link EntryChange}, in ms; 0 if it is over. */
  quietMs: number;
  /** The entry whose quiet time it is; `undefined` if it is that of several, or of none. */
  quietKey: string | undefined;
}

/** The condition that an entry must meet for a change to apply. */
export interface EntryCondition {
  /** Its state. */
  state: OutboxState;
  /** Its number of attempts. */
  attempts: number;
  /** The lease of its lane must be held by this run, and must not have ended. */
  owner?: string | undefined;
}

/** The changes of an entry. Fields that are left out or `undefined` keep their values. */
export interface EntryChange extends Partial<EntryProgress> {
  /**
   * The quiet time of the entry: an attempt of it may take effect for this many ms from now on. Until then no other entry
   * of the lane may be sent, since the one could undo the other, nor this one, unless it is an update or discontinuation.
   * An earlier quiet time that ends later stays.
   */
  quietMs?: number | undefined;
}

/** A change of an entry to a state, perhaps the one that it is in. */
export interface StateChange extends EntryChange {
  state: OutboxState;
}

/** The result of a change. */
export interface UpdateResult {
  /** Whether the condition was met. */
  changed: boolean;
  /** The entry as it is now. */
  entry: StoredEntry;
}

/** Number of entries, by state. */
export interface OutboxCounts extends Omit<OutboxSummary, "oldestUnsettledMs"> {
  /** When the oldest entry that is not settled was added, in ms since the epoch; `null` if all are. */
  oldestUnsettledAt: number | null;
  /** Entries behind an `unknown` one of the same lane that are `pending` or `sending`: they are counted there, too. */
  heldBack: number;
}

/** Entries that a run has to send. */
export const entriesToSend = ({ pending, sending, heldBack }: OutboxCounts) => pending - heldBack + sending;

/**
 * Stores the entries of an outbox. Each method is one transaction that is on disk when it resolves. Several processes
 * may use one store at the same time. Methods reject with a `StorageError` if the store fails; then the change may or
 * may not have been stored.
 */
export interface OutboxStore {
  /**
   * Opens the store, and creates or upgrades its tables. Called before any other method; a second call changes nothing.
   *
   * @returns the id of the store: a random string, created once and stored.
   */
  open(): Promise<string>;
  /**
   * Records the service that the store belongs to, if none is recorded yet, or only its address.
   *
   * @returns the service that is recorded then.
   */
  claimService(service: ServiceIdentity): Promise<string>;
  /** Releases files and connections. `open()` may be called again. */
  close(): Promise<void>;

  /**
   * Adds entries as `pending`, all of them or none. An entry whose key exists already is not added. None is added if a
   * key exists with another `inputHash`.
   *
   * @param transaction what the caller passed as `client` to `outbox.add`: the entries become part of its transaction
   * @returns for each entry, in the same order, what is now stored with its key
   */
  add(entries: readonly NewEntry[], transaction?: unknown): Promise<StoredEntry[]>;
  /** The entry with this key, pruned or not. */
  get(key: string): Promise<StoredEntry | undefined>;
  /** Up to `limit` entries with a greater sequence than `after`, in the order added. Pruned ones are left out. */
  list(filter: {
    state?: OutboxState | undefined;
    lane?: string | undefined;
    after: number;
    limit: number;
  }): Promise<StoredEntry[]>;
  /** Counts the entries, pruned ones included, except those of some lanes. */
  count(except: readonly string[]): Promise<OutboxCounts>;

  /**
   * Leases up to `limit` lanes to `owner`: lanes with an entry to send and no `unknown` entry before it, whose lease is
   * free or has ended, and that are not in `except`. Lanes are taken in the order in which their first entry was added.
   */
  claim(lease: { owner: string; leaseMs: number; limit: number; except: readonly string[] }): Promise<ClaimedLane[]>;
  /** Extends leases that have not ended. Returns the lanes that `owner` holds. */
  renew(lease: { owner: string; leaseMs: number; lanes: readonly string[] }): Promise<string[]>;
  /** Ends the lease now. */
  release(lease: { owner: string; lane: string }): Promise<void>;
  /**
   * The next entry of the lane: the one that is `sending`, since nothing is sent before its outcome is known, otherwise
   * the first one that is `pending`. `undefined` if there is none, or if its first unsettled entry is `unknown`.
   */
  next(lane: string): Promise<StoredEntry | undefined>;

  /**
   * Changes an entry if it meets the condition.
   *
   * @returns whether it did, and the entry as it is now; `undefined` if there is none with this key
   */
  update(key: string, condition: EntryCondition, change: EntryChange): Promise<UpdateResult | undefined>;

  /**
   * Removes the contents (`input`, `body`, `result`, `error`) of entries that were settled before a time; returns how many.
   * The error of a canceled entry stays: it says whether another entry has replaced it.
   */
  prune(filter: { settledBefore: number }): Promise<number>;
}

const ENTRIES_PER_BATCH = 500;

/** A part of a list of entries. */
export type ListPage = Pick<Parameters<OutboxStore["list"]>[0], "after" | "limit">;

/** The entries of a list, which is read in batches. */
export async function* inBatches(list: (page: ListPage) => Promise<StoredEntry[]>): AsyncGenerator<StoredEntry> {
  for (let after = 0; ; ) {
    const batch = await list({ after, limit: ENTRIES_PER_BATCH });
    for (const stored of batch) {
      after = stored.sequence;
      yield stored;
    }
    if (batch.length < ENTRIES_PER_BATCH) return;
  }
}
