import { randomBytes } from "node:crypto";
import { ConfigurationError, StorageError } from "../shared/errors/index.js";
import { castUnchecked } from "../shared/unknown.js";
import { abortableBy, placeholders, type SqlDatabase, type SqlQuery, type SqlRow } from "../storage/database.js";
import type { Dialect } from "../storage/dialect.js";
import type { ServiceAccount } from "../storage/service.js";
import { ineffectiveCommand } from "../storage/storage-failure.js";
import { type RowsUpdate, type SqlFields, updateRows } from "../storage/update-rows.js";
import { type NewEntry, type OutboxState, otherInput, type StoredEntry } from "./entry.js";

/*
 * An outbox in an SQL database. It has two tables: one with the entries, and one with a single row for the store, which also
 * has the name of the present sender (sender-lock.ts). Each method is one transaction.
 */

const STORE_TABLE = "stocklot_outbox_store";

export const tableNamesOf = ({ nameOf }: Dialect) => ({
  store: nameOf(STORE_TABLE),
  entries: nameOf("stocklot_outbox_entries"),
});

/** The names of the tables as they are written in the SQL of the database. */
export type TableNames = ReturnType<typeof tableNamesOf>;

const ADDED = ["key", "operation", "lane", "input", "inputHash", "addedAt", "boundTo"] as const;

/** An entry that waits for its first attempt. */
const UNSENT: Omit<StoredEntry, (typeof ADDED)[number] | "sequence" | "attempts"> = {
  state: "pending",
  sentAt: null,
  clockAheadMs: null,
  lastRecNo: null,
  settledAt: null,
  resolvedAt: null,
  resolvedFrom: null,
  result: null,
  error: null,
};

/** The fields with numbers, which PostgreSQL returns as strings. */
const NUMBERS: readonly string[] = [
  "sequence",
  "addedAt",
  "attempts",
  "sentAt",
  "clockAheadMs",
  "lastRecNo",
  "settledAt",
  "resolvedAt",
];

const sqlColumn = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const sqlColumns = (fields: SqlFields): SqlFields =>
  Object.fromEntries(Object.entries(fields).map(([field, value]) => [sqlColumn(field), value]));
const SELECTED = [...ADDED, "sequence", "attempts", ...Object.keys(UNSENT)]
  .map((field) => `${sqlColumn(field)} AS "${field}"`)
  .join(", ");

/** How many rows or keys one command has. Both databases accept a thousand values per command. */
const PER_COMMAND = 100;
/** How many entries one command of SQLite examines. The limit is low, because the command blocks the event loop. */
const PER_PART = 1_000;
const BEYOND_LAST_PLACE = Number.MAX_SAFE_INTEGER;

const UNSETTLED = "('pending', 'sending', 'unknown')";
type Unsettled = "pending" | "sending" | "unknown";

export type EntryChange = Partial<
  Pick<StoredEntry, "state" | "settledAt" | "resolvedAt" | "resolvedFrom" | "result" | "error">
>;

/** The values that a change expects. If the entry has other values by then, it is not changed. */
export type AsRead = Pick<StoredEntry, "key" | "state" | "attempts">;

interface EntryFilter {
  state?: OutboxState | undefined;
  lane?: string | undefined;
  /** Whether pruned entries are listed, too. */
  pruned?: boolean;
}

export interface UnsettledCounts extends Record<Unsettled, number> {
  /** When the oldest unsettled entry was added. */
  oldestUnsettledAt: number | null;
  /** Pending and sending entries that are not behind an `unknown` entry of the same item. */
  toSend: number;
}

export type OutboxCounts = UnsettledCounts & Record<OutboxState, number>;

/** The present sender in the row of the store. */
export interface SenderRow {
  /** The name of the sender; empty if no process sends. */
  sender: string;
  /** The number of its last heartbeat. */
  beat: number;
  /** How long the sender may be silent, in ms. */
  leaseMs: number;
  /** The largest `settleMs` of all processes. */
  settleMs: number;
}

/** The process that opens a store. */
export interface StoreUser {
  /** The service of the client, if there is one. */
  service?: ServiceAccount | undefined;
  /** The option of the caller. */
  settleMs?: number | undefined;
}

interface AddOptions {
  replaceRejected?: boolean | undefined;
  /** The path of an entry in the arguments, for messages. */
  pathOf?: (index: number) => number[];
  seen?: SeenKeys | undefined;
}

/** The keys of one kind (such as one delivery), as a caller saw them before adding more keys of that kind. */
export interface SeenKeys {
  prefixes: readonly string[];
  /** How many keys begin with these prefixes. Keys are never removed, so an equal count means the same keys. */
  count: number;
}

/** Other keys of the kind were added since the caller saw them. Nothing was added. */
export class KeysHaveGrown extends Error {}

/** Which entries a run sends. */
export interface SendFilter {
  /** Entries up to this place. */
  upTo: number;
  /** Entries of one item. */
  lane?: string | undefined;
}

/** A store whose tables exist. */
export class OpenStore {
  constructor(
    readonly id: string,
    readonly database: SqlDatabase,
    readonly names: TableNames,
    /** Whether waiting for the database was aborted. */
    readonly isAborted: () => boolean = () => false,
  ) {}

  /** Returns the same store. Waiting for its database also ends when the signal aborts. */
  abortableBy(signal: AbortSignal): OpenStore {
    const isAborted = () => signal.aborted || this.isAborted();
    return new OpenStore(this.id, abortableBy(this.database, signal), this.names, isAborted);
  }

  /**
   * Records the service of a process, if the store has no service yet, or has the same account under another `serviceId`. Records
   * its `settleMs`, if it is the largest. Returns the recorded service; `undefined` if there is none.
   */
  claim(use: StoreUser): Promise<ServiceAccount | undefined> {
    return this.database.transaction((run) => claimStore(this.database, run, this.names, use));
  }

  /**
   * Adds entries as `pending`: all of them or none. An entry whose key exists with the same input is not added. With
   * `replaceRejected`, an entry with another input replaces a rejected entry.
   *
   * @returns the stored entry for each key, in the order of `entries`
   * @throws InputValidationError if a key exists with another input
   * @throws KeysHaveGrown if keys of the kind were added since they were `seen`
   */
  add(
    method: string,
    entries: readonly NewEntry[],
    { replaceRejected = false, pathOf = () => [], seen }: AddOptions = {},
  ): Promise<StoredEntry[]> {
    return this.database.transaction(async (run) => {
      if (seen) await this.#assertSeen(run, seen);
      const stored: StoredEntry[] = [];
      for (const part of batchesOf(entries)) {
        const values = part.flatMap((entry) => ADDED.map((field) => entry[field]));
        const rows = part.map((_, index) => `(${placeholders(ADDED.length, index * ADDED.length + 1)})`).join(", ");
        const inserted = await run(
          `INSERT INTO ${this.names.entries} (${ADDED.map(sqlColumn)}) VALUES ${rows} ON CONFLICT (key) DO NOTHING RETURNING key`,
          values,
        );
        const newKeys = new Set(inserted.map(({ key }) => key));
        const found = await this.#find(run, part);
        for (const entry of part) {
          const at = pathOf(stored.length);
          const same = found.get(entry.key);
          const isAsSent = same && (!newKeys.has(entry.key) || isSame(same, { ...UNSENT, attempts: 0, ...entry }));
          if (!isAsSent) throw ineffectiveCommand(this.database, "INSERT", this.names.entries);
          const isReplaced = same.inputHash !== entry.inputHash && replaceRejected;
          const kept = isReplaced ? await this.#replaceRejected(run, entry) : same;
          if (kept?.inputHash !== entry.inputHash) throw otherInput(method, entry.key, at);
          found.set(entry.key, kept);
          stored.push(kept);
        }
      }
      return stored;
    });
  }

  /** Counts the keys that begin with these prefixes, pruned entries included. */
  countKeys(prefixes: readonly string[]): Promise<SeenKeys> {
    return this.database.transaction((run) => this.#countKeys(run, prefixes), { reads: true });
  }

  async #countKeys(run: SqlQuery, prefixes: readonly string[]): Promise<SeenKeys> {
    let count = 0;
    for (const prefix of prefixes) {
      const [row] = await run(
        `SELECT count(*) AS keys FROM ${this.names.entries} WHERE key > $1 AND key < $2`,
        prefixRange(prefix),
      );
      count += Number(row?.keys);
    }
    return { prefixes, count };
  }

  /** Checks that no keys were added since they were seen. No other process can add keys of a kind until the transaction ends. */
  async #assertSeen(run: SqlQuery, { prefixes, count }: SeenKeys): Promise<void> {
    // A transaction of SQLite that writes excludes all others.
    if (this.database.kind === "postgres")
      await run("SELECT pg_advisory_xact_lock(hashtext($1))", [`stocklot keys ${this.id}`]);
    if ((await this.#countKeys(run, prefixes)).count !== count) throw new KeysHaveGrown();
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    return (await this.getMany([{ key }])).get(key);
  }

  /** Returns the entries with these keys, by key. Keys that do not exist are left out. */
  getMany(keys: readonly Pick<StoredEntry, "key">[]): Promise<Map<string, StoredEntry>> {
    const read = async (run: SqlQuery) => {
      const found = new Map<string, StoredEntry>();
      for (const part of batchesOf(keys)) for (const [key, entry] of await this.#find(run, part)) found.set(key, entry);
      return found;
    };
    return this.database.transaction(read, { reads: true });
  }

  /** Returns the entries in the order added, read in batches. */
  async *list({ pruned = false, state, lane }: EntryFilter = {}): AsyncGenerator<StoredEntry> {
    const given = Object.entries({ state, lane }).filter(([, value]) => value !== undefined);
    const conditions = [
      "sequence > $1 AND sequence <= $2",
      ...given.map(([column], index) => `${column} = $${index + 3}`),
      ...(pruned ? [] : ["input IS NOT NULL"]),
    ];
    const sql = `SELECT ${SELECTED} FROM ${this.names.entries} WHERE ${conditions.join(" AND ")}
      ORDER BY sequence LIMIT ${5 * PER_COMMAND}`;
    const values = given.map(([, value]) => value ?? null);
    for await (const { from, to } of this.#parts(this.#read, "true", lane)) {
      for (let after = from, isOver = false; !isOver; ) {
        const rows = await this.#read(sql, [after, to, ...values]);
        for (const entry of rows.map(entryOfRow)) {
          after = entry.sequence;
          yield entry;
        }
        isOver = rows.length < 5 * PER_COMMAND;
      }
    }
  }

  /** Returns the keys that begin with a prefix, and their states. Pruned entries are included. Read in batches. */
  async *keys(prefix: string): AsyncGenerator<Pick<StoredEntry, "key" | "state">> {
    const sql = `SELECT key, state FROM ${this.names.entries} WHERE key > $1 AND key < $2 ORDER BY key LIMIT ${50 * PER_COMMAND}`;
    const [first, end] = prefixRange(prefix);
    for (let after = first; ; ) {
      const rows = await this.#read(sql, [after, end]);
      for (const row of rows) {
        const entry = castUnchecked<Pick<StoredEntry, "key" | "state">>(row);
        after = entry.key;
        yield entry;
      }
      if (rows.length < 50 * PER_COMMAND) return;
    }
  }

  count(): Promise<OutboxCounts> {
    const count = async (run: SqlQuery) => {
      const { oldestUnsettledAt, toSend } = await this.#countUnsettled(run);
      const none = { pending: 0, sending: 0, applied: 0, rejected: 0, unknown: 0, canceled: 0 };
      const counts = { ...none, oldestUnsettledAt, toSend };
      // All states in one command, since an entry may change its state between two commands of PostgreSQL.
      const sql = `SELECT state, count(*) AS entries FROM ${this.names.entries}
        WHERE sequence > $1 AND sequence <= $2 GROUP BY state`;
      for await (const { from, to } of this.#parts(run)) addTo(counts, await run(sql, [from, to]));
      return counts;
    };
    return this.database.transaction(count, { reads: true });
  }

  /** Counts the unsettled entries. The time that this takes does not depend on the number of settled entries. */
  countUnsettled(): Promise<UnsettledCounts> {
    return this.database.transaction((run) => this.#countUnsettled(run), { reads: true });
  }

  /** Returns the place of the entry that was added last; 0 if there is no entry. */
  async lastPlace(): Promise<number> {
    const [row] = await this.#read(`SELECT max(sequence) AS last FROM ${this.names.entries}`);
    return Number(row?.last ?? 0);
  }

  /** Returns the first unsettled entry of each item, unless that entry is `unknown`, in the order added. */
  next(limit: number, { upTo, lane }: SendFilter): Promise<StoredEntry[]> {
    const { entries } = this.names;
    const sql = `SELECT ${SELECTED} FROM ${entries} AS entry WHERE state IN ${UNSETTLED} AND state <> 'unknown'
      AND sequence > $1 AND sequence <= $2 ${lane === undefined ? "" : "AND lane = $3"}
      AND NOT EXISTS (SELECT 1 FROM ${entries} AS earlier WHERE earlier.lane = entry.lane
        AND earlier.sequence < entry.sequence AND earlier.state IN ${UNSETTLED})
      ORDER BY sequence LIMIT ${limit}`;
    const read = async (run: SqlQuery) => {
      const found: StoredEntry[] = [];
      for await (const { from, to } of this.#parts(run, `state IN ${UNSETTLED}`, lane)) {
        if (from >= upTo || found.length >= limit) break;
        const rows = await run(sql, [from, Math.min(to, upTo), ...(lane === undefined ? [] : [lane])]);
        found.push(...rows.map(entryOfRow));
      }
      return found.slice(0, limit);
    };
    return this.database.transaction(read, { reads: true });
  }

  /** Changes an entry if it is still as it was read, and returns the new entry; `undefined` if somebody has changed it. */
  async change({ key, state, attempts }: AsRead, change: EntryChange): Promise<StoredEntry | undefined> {
    const [row] = await this.#update({
      table: this.names.entries,
      set: sqlColumns(change),
      row: { key },
      where: (bind) => `state = ${bind(state)} AND attempts = ${bind(attempts)}`,
      returning: SELECTED,
    });
    return row && entryOfRow(row);
  }

  /**
   * Stores that an attempt begins, under three conditions: `sender` holds the lock; the database has its last `beat`;
   * the entry is still the first unsettled entry of its item (a person may have made an earlier entry pending again).
   * Repeating the command changes nothing, so the caller can retry if the response of the database was lost.
   */
  async markSending(
    { key, attempts, sentAt, clockAheadMs, lastRecNo }: StoredEntry,
    attempt: { sender: string; beat: number; sentAt: number; clockAheadMs: number | null; lastRecNo: number | null },
  ): Promise<StoredEntry | undefined> {
    const { store, entries } = this.names;
    const { sender, beat, ...first } = attempt;
    // A later look-up needs the values of the first attempt.
    const sent = sentAt === null ? first : { sentAt, clockAheadMs, lastRecNo };
    const [row] = await this.#update({
      table: entries,
      set: sqlColumns({ state: "sending", attempts: attempts + 1, error: null, ...sent }),
      row: { key },
      where: (bind) => `(attempts = ${bind(attempts)} AND state IN ('pending', 'sending')
          OR attempts = ${bind(attempts + 1)} AND state = 'sending')
        AND (bound_to IS NULL OR bound_to = ${bind(sender)})
        AND ${bind(sender)} = (SELECT sender FROM ${store} WHERE beat >= ${bind(beat)})
        AND NOT EXISTS (SELECT 1 FROM ${entries} AS earlier WHERE earlier.lane = ${entries}.lane
          AND earlier.sequence < ${entries}.sequence AND earlier.state IN ${UNSETTLED})`,
      returning: SELECTED,
    });
    return row && entryOfRow(row);
  }

  /** Cancels the pending entries that are bound to earlier senders. */
  async cancelBound(sender: string, settledAt: number, error: string): Promise<void> {
    const { store, entries } = this.names;
    await this.#update({
      table: entries,
      set: { state: "canceled", settled_at: settledAt, error },
      where: (bind) => `state = 'pending' AND bound_to <> ${bind(sender)}
        AND ${bind(sender)} = (SELECT sender FROM ${store})`,
      all: true,
    });
  }

  /** Removes the contents of entries that were applied or canceled before a time. Returns their number. */
  async prune(settledBefore: number): Promise<number> {
    let pruned = 0;
    for await (const { from, to } of this.#parts(this.#read)) {
      const rows = await this.#update({
        table: this.names.entries,
        set: { input: null, result: null, error: null },
        where: (bind) => `sequence > ${bind(from)} AND sequence <= ${bind(to)}
          AND state IN ('applied', 'canceled') AND settled_at < ${bind(settledBefore)} AND input IS NOT NULL`,
        all: true,
      });
      pruned += rows.length;
    }
    return pruned;
  }

  async sender(): Promise<SenderRow> {
    const [row] = await this.#read(`SELECT sender, beat, lease_ms, settle_ms FROM ${this.names.store}`);
    if (!row) throw emptyStore(this.database, this.names.store);
    return {
      sender: String(row.sender),
      beat: Number(row.beat),
      leaseMs: Number(row.lease_ms),
      settleMs: Number(row.settle_ms),
    };
  }

  /** Takes the lock, if its row is still as it was read. Returns the new row; `undefined` if the row has changed. */
  async takeLock(seen: SenderRow, own: Omit<SenderRow, "beat">): Promise<SenderRow | undefined> {
    const next = { ...own, beat: seen.beat + 1, settleMs: Math.max(seen.settleMs, own.settleMs) };
    const rows = await this.#update({
      table: this.names.store,
      set: sqlColumns({ ...next }),
      where: (bind) => `sender = ${bind(seen.sender)} AND beat = ${bind(seen.beat)}`,
    });
    return rows.length > 0 ? next : undefined;
  }

  /**
   * Sets the `beat` of a sender to the next number. Repeating the command changes nothing. Returns false if the lock is
   * lost.
   */
  async heartbeat(sender: string, beat: number): Promise<boolean> {
    const rows = await this.#update({
      table: this.names.store,
      set: { beat },
      where: (bind) => `sender = ${bind(sender)} AND beat >= ${bind(beat - 1)} AND beat <= ${bind(beat)}`,
    });
    return rows.length > 0;
  }

  async releaseLock(sender: string): Promise<void> {
    await this.#update({
      table: this.names.store,
      set: { sender: "" },
      increments: "beat",
      where: (bind) => `sender = ${bind(sender)}`,
    });
  }

  /**
   * Divides the entries that a condition selects into parts, so that no command of SQLite blocks the event loop for long.
   * PostgreSQL gets one part with all entries, since its server is another process. The entries of a part have places above
   * `from`, up to `to`.
   */
  async *#parts(run: SqlQuery, condition = "true", lane?: string): AsyncGenerator<{ from: number; to: number }> {
    if (this.database.kind === "postgres") return yield { from: 0, to: BEYOND_LAST_PLACE };
    const ofLane = lane === undefined ? "" : "AND lane = $2";
    const sql = `SELECT max(sequence) AS last FROM (SELECT sequence FROM ${this.names.entries}
      WHERE ${condition} AND sequence > $1 ${ofLane} ORDER BY sequence LIMIT ${PER_PART}) AS part`;
    for (let from = 0; ; ) {
      const [row] = await run(sql, lane === undefined ? [from] : [from, lane]);
      if (row?.last == null) return;
      const to = Number(row.last);
      yield { from, to };
      from = to;
    }
  }

  async #countUnsettled(run: SqlQuery): Promise<UnsettledCounts> {
    const { entries } = this.names;
    const counts: UnsettledCounts = { pending: 0, sending: 0, unknown: 0, oldestUnsettledAt: null, toSend: 0 };
    const sql = `SELECT state, count(*) AS entries, min(added_at) AS oldest,
        count(CASE WHEN state <> 'unknown' AND NOT EXISTS (SELECT 1 FROM ${entries} AS blocking
          WHERE blocking.lane = entry.lane AND blocking.sequence < entry.sequence AND blocking.state = 'unknown') THEN 1 END) AS to_send
      FROM ${entries} AS entry WHERE state IN ${UNSETTLED} AND sequence > $1 AND sequence <= $2 GROUP BY state`;
    for await (const { from, to } of this.#parts(run, `state IN ${UNSETTLED}`)) {
      const rows = await run(sql, [from, to]);
      addTo(counts, rows);
      for (const { oldest, to_send: toSend } of rows) {
        counts.oldestUnsettledAt = Math.min(counts.oldestUnsettledAt ?? Infinity, Number(oldest));
        counts.toSend += Number(toSend);
      }
    }
    return counts;
  }

  /** Runs one query in a transaction of its own. */
  readonly #read: SqlQuery = (sql, values) => this.database.transaction((run) => run(sql, values), { reads: true });

  /** Compares and sets in a transaction of its own. */
  #update(update: RowsUpdate): Promise<SqlRow[]> {
    return this.database.transaction((run) => updateRows(this.database, run, update));
  }

  async #find(run: SqlQuery, keys: readonly Pick<StoredEntry, "key">[]): Promise<Map<string, StoredEntry>> {
    const sql = `SELECT ${SELECTED} FROM ${this.names.entries} WHERE key IN (${placeholders(keys.length)})`;
    const rows = await run(
      sql,
      keys.map(({ key }) => key),
    );
    return new Map(rows.map(entryOfRow).map((entry) => [entry.key, entry]));
  }

  /** Replaces a rejected entry. Place and attempts stay, so that an old change by another process cannot fit the new entry. */
  async #replaceRejected(run: SqlQuery, entry: NewEntry): Promise<StoredEntry | undefined> {
    const { key, ...fields } = entry;
    const rows = await updateRows(this.database, run, {
      table: this.names.entries,
      set: sqlColumns({ ...UNSENT, ...fields }),
      row: { key },
      where: () => "state = 'rejected'",
      returning: SELECTED,
    });
    return rows.map(entryOfRow)[0];
  }
}

function addTo(counts: Partial<Record<OutboxState, number>>, rows: readonly SqlRow[]): void {
  for (const { state, entries } of rows) {
    const known = castUnchecked<OutboxState>(state);
    counts[known] = (counts[known] ?? 0) + Number(entries);
  }
}

const isSame = (stored: StoredEntry, fields: Partial<StoredEntry>): boolean =>
  Object.entries(fields).every(([field, value]) => Reflect.get(stored, field) === value);

/** Returns two texts. All keys with the prefix are between them, because no key contains U+10FFFF. */
const prefixRange = (prefix: string): [string, string] => [prefix, `${prefix}\u{10FFFF}`];

const batchesOf = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / PER_COMMAND) }, (_, part) =>
    all.slice(part * PER_COMMAND, (part + 1) * PER_COMMAND),
  );

/** Converts a row to an entry. The columns are those of this version, see `readStoreId`. */
const entryOfRow = (row: SqlRow): StoredEntry => {
  const fields = Object.entries(row).map(([field, value]) => [
    field,
    value !== null && NUMBERS.includes(field) ? Number(value) : value,
  ]);
  return castUnchecked<StoredEntry>(Object.fromEntries(fields));
};

const TABLES_VERSION = 5;

/**
 * Returns the random ID of the store; `undefined` if there are no tables.
 *
 * @throws ConfigurationError if the tables have another version.
 */
export async function readStoreId(dialect: Dialect, run: SqlQuery, location: string): Promise<string | undefined> {
  const [table] = await run(...dialect.findTable(STORE_TABLE));
  if (!table) return undefined;
  const { store } = tableNamesOf(dialect);
  const [row] = await run(`SELECT id, version FROM ${store}`);
  if (!row) throw emptyStore({ location }, store);
  if (Number(row.version) === TABLES_VERSION) return String(row.id);
  throw new ConfigurationError(
    `${location}: this outbox has the format ${row.version}, and this version of stocklot uses ${TABLES_VERSION}. Use the version ` +
      "that created it to send what is pending, then a new outbox.",
  );
}

/** Creates the tables in a transaction, if they do not exist. Returns the ID of the store. */
export async function createTables(dialect: Dialect, run: SqlQuery, location: string): Promise<string> {
  const known = await readStoreId(dialect, run, location);
  if (known !== undefined) return known;
  const { store, entries } = tableNamesOf(dialect);
  const { sequence, key } = dialect.types;
  await run(`CREATE TABLE ${store} (
    only_row integer PRIMARY KEY CHECK (only_row = 1), id text NOT NULL, version integer NOT NULL,
    service text, address text, client_id text, sender text NOT NULL DEFAULT '', beat bigint NOT NULL DEFAULT 0,
    lease_ms double precision NOT NULL DEFAULT 0, settle_ms double precision NOT NULL DEFAULT 0)`);
  await run(`CREATE TABLE ${entries} (
    sequence ${sequence}, key ${key} NOT NULL UNIQUE, operation text NOT NULL, lane ${key} NOT NULL, input text,
    input_hash text NOT NULL, added_at double precision NOT NULL, bound_to text,
    state text NOT NULL DEFAULT 'pending', attempts integer NOT NULL DEFAULT 0, sent_at double precision,
    clock_ahead_ms double precision, last_rec_no double precision, settled_at double precision,
    resolved_at double precision, resolved_from text, result text, error text)`);
  await run(`CREATE INDEX stocklot_outbox_by_lane ON ${entries} (lane, sequence)`);
  await run(`CREATE INDEX stocklot_outbox_unsettled ON ${entries} (lane, sequence) WHERE state IN ${UNSETTLED}`);
  await run(`CREATE INDEX stocklot_outbox_open ON ${entries} (sequence) WHERE state IN ${UNSETTLED}`);
  await run(`CREATE INDEX stocklot_outbox_unknown ON ${entries} (lane, sequence) WHERE state = 'unknown'`);
  await run(
    `CREATE INDEX stocklot_outbox_bound ON ${entries} (bound_to) WHERE state = 'pending' AND bound_to IS NOT NULL`,
  );
  const id = randomBytes(16).toString("hex");
  await run(`INSERT INTO ${store} (only_row, id, version) VALUES (1, $1, $2)`, [id, TABLES_VERSION]);
  return id;
}

/** See `OpenStore.claim`. */
export async function claimStore(
  database: SqlDatabase,
  run: SqlQuery,
  { store }: TableNames,
  { service, settleMs = 0 }: StoreUser,
): Promise<ServiceAccount | undefined> {
  const read = async () => {
    const [row] = await run(`SELECT service, address, client_id, settle_ms FROM ${store}`);
    if (!row) throw emptyStore(database, store);
    const { service: id, address, client_id: clientId } = row;
    const known = id === null ? undefined : { id: String(id), address: String(address), clientId: String(clientId) };
    return { known, knownSettleMs: Number(row.settle_ms) };
  };
  // Reads first, so that a user who may only add entries needs no right to update.
  const { known, knownSettleMs } = await read();
  const isSameAccount = known?.address === service?.address && known?.clientId === service?.clientId;
  if (service && (!known || (isSameAccount && known.id !== service.id))) {
    const { id, address, clientId } = service;
    await updateRows(database, run, {
      table: store,
      set: { service: id, address, client_id: clientId },
      where: (bind) => `(service IS NULL
        OR (address = ${bind(address)} AND client_id = ${bind(clientId)} AND service <> ${bind(id)}))`,
    });
  }
  if (knownSettleMs < settleMs)
    await updateRows(database, run, {
      table: store,
      set: { settle_ms: settleMs },
      where: (bind) => `settle_ms < ${bind(settleMs)}`,
    });
  return (await read()).known;
}

const emptyStore = ({ location }: { location: string }, store: string) =>
  new StorageError(
    `${location}: the table ${store} has no row that can be read. Somebody has removed it: restore the database, or use a new outbox.`,
    { location },
  );
