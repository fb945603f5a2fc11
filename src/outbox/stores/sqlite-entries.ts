import type { ServiceIdentity } from "../../storage/service.js";
import type { SqliteDatabase, SqliteStatement } from "../../storage/sqlite/driver.js";
import type {
  ClaimedItem,
  EntryChange,
  EntryCondition,
  NewDelivery,
  NewEntry,
  OutboxCounts,
  OutboxStore,
  StoredDelivery,
  StoredEntry,
} from "../store.js";
import {
  changedColumns,
  conflictingDeliveries,
  countsOfRow,
  deliveryOfRow,
  entryOfRow,
  itemToColumn,
  SELECTED_COLUMNS_SQL,
  STATE_COUNTS_SQL,
  UNSETTLED_STATES_SQL,
} from "./entry-row.js";

const ENTRIES_TABLE_SQL = "stocklot_outbox_entries AS entry";

/** The item has a lease that has not ended. A lease that seems to last longer than it can was given before the machine restarted. */
const IS_LEASED_SQL = "(leased_until > ?1 AND leased_until <= ?1 + lease_ms)";

const STATEMENT_SQL = {
  insert: `INSERT INTO stocklot_outbox_entries (key, operation, item, input, input_hash, added_at, delivery) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  addDelivery: "INSERT INTO stocklot_outbox_deliveries (name, file, digest, lines, begun_at) VALUES (?, ?, ?, ?, ?)",
  deliveries: `SELECT name, file, digest, lines, begun_at AS "begunAt", (
      SELECT json_group_object(state, entries) FROM (
        SELECT state, count(*) AS entries FROM stocklot_outbox_entries WHERE delivery = name GROUP BY state)
    ) AS entries FROM stocklot_outbox_deliveries WHERE name = ?1 OR file = ?2 OR digest = ?3 ORDER BY begun_at`,
  get: `SELECT ${SELECTED_COLUMNS_SQL} FROM ${ENTRIES_TABLE_SQL} WHERE key = ?`,
  list: `SELECT ${SELECTED_COLUMNS_SQL} FROM ${ENTRIES_TABLE_SQL}
    WHERE sequence > ?1 AND input IS NOT NULL AND (?2 IS NULL OR state = ?2) ORDER BY sequence LIMIT ?3`,
  listOfItem: `SELECT ${SELECTED_COLUMNS_SQL} FROM ${ENTRIES_TABLE_SQL}
    WHERE sequence > ?1 AND input IS NOT NULL AND (?2 IS NULL OR state = ?2) AND item = ?4 ORDER BY sequence LIMIT ?3`,
  count: `
    WITH counted AS (
      SELECT state, count(*) AS entries FROM stocklot_outbox_entries
      WHERE item NOT IN (SELECT value FROM json_each(?1)) GROUP BY state
    ), blocked AS (
      SELECT item, min(sequence) AS sequence FROM stocklot_outbox_entries
      WHERE state = 'unknown' AND item NOT IN (SELECT value FROM json_each(?1)) GROUP BY item
    )
    SELECT ${STATE_COUNTS_SQL},
      (SELECT min(added_at) FROM stocklot_outbox_entries WHERE state IN ${UNSETTLED_STATES_SQL}) AS "oldestUnsettledAt",
      (SELECT count(*) FROM blocked JOIN stocklot_outbox_entries AS entry
        ON entry.item = blocked.item AND entry.sequence > blocked.sequence
        AND entry.state = 'pending') AS "heldBack"`,
  claimable: `SELECT ${SELECTED_COLUMNS_SQL}, leased_until, lease_ms, quiet_until, quiet_ms
    FROM ${ENTRIES_TABLE_SQL} LEFT JOIN stocklot_outbox_items AS leased ON leased.item = entry.item
    WHERE state IN ('pending', 'sending')
      AND NOT EXISTS (
        SELECT 1 FROM stocklot_outbox_entries AS earlier
        WHERE earlier.item = entry.item AND earlier.sequence < entry.sequence
          AND earlier.state IN ${UNSETTLED_STATES_SQL})
      AND entry.item NOT IN (SELECT value FROM json_each(?2))
      AND ${IS_LEASED_SQL} IS NOT TRUE
    ORDER BY sequence LIMIT ?3`,
  lease: `INSERT INTO stocklot_outbox_items (item, owner, leased_until, lease_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (item) DO UPDATE SET owner = ?2, leased_until = ?3, lease_ms = ?4`,
  isHeld: `SELECT 1 FROM stocklot_outbox_items WHERE ${IS_LEASED_SQL} AND item = ?2 AND owner = ?3`,
  next: `SELECT ${SELECTED_COLUMNS_SQL} FROM ${ENTRIES_TABLE_SQL}
    WHERE item = ? AND state IN ${UNSETTLED_STATES_SQL} ORDER BY sequence LIMIT 1`,
  keepQuiet: `INSERT INTO stocklot_outbox_items (item, quiet_until, quiet_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (item) DO UPDATE SET quiet_until = ?2, quiet_ms = ?3`,
  quiet: "SELECT quiet_until, quiet_ms FROM stocklot_outbox_items WHERE item = ?",
  claimService: "UPDATE stocklot_outbox_store SET service = ?1 WHERE service IS NULL OR service = ?2",
  service: "SELECT service FROM stocklot_outbox_store",
  prune: `UPDATE stocklot_outbox_entries SET input = NULL, body = NULL, result = NULL, error = NULL
    WHERE state NOT IN ${UNSETTLED_STATES_SQL} AND settled_at < ? AND input IS NOT NULL RETURNING 1`,
};

type EntryStatements = Readonly<Record<keyof typeof STATEMENT_SQL, SqliteStatement>>;

/** The commands of an outbox store, on open tables. The caller opens transactions. */
export class SqliteEntries {
  readonly #database: SqliteDatabase;
  readonly #statements: EntryStatements;
  readonly #clock: () => number;

  /** @param clock the clock of leases, in ms, which starts again when the machine restarts */
  constructor(database: SqliteDatabase, clock: () => number) {
    this.#database = database;
    this.#clock = clock;
    const statements = Object.entries(STATEMENT_SQL).map(([name, sql]) => [name, database.prepare(sql)]);
    this.#statements = Object.fromEntries(statements) as EntryStatements;
  }

  claimService({ id, address }: ServiceIdentity): string {
    this.#statements.claimService.run(id, address);
    return String(this.#statements.service.all()[0]?.service);
  }

  add(added: readonly NewEntry[]): StoredEntry[] {
    const existing = added.flatMap(({ key }) => this.get(key) ?? []);
    const hashes = new Map(existing.map(({ key, inputHash }) => [key, inputHash]));
    if (added.some(({ key, inputHash }) => (hashes.get(key) ?? inputHash) !== inputHash)) return existing;
    for (const { key, operation, item, input, inputHash, addedAt, delivery = null } of added) {
      if (!hashes.has(key))
        this.#statements.insert.run(key, operation, itemToColumn(item), input, inputHash, addedAt, delivery);
      hashes.set(key, inputHash);
    }
    return added.flatMap(({ key }) => this.get(key) ?? []);
  }

  beginDelivery(delivery: NewDelivery): StoredDelivery[] {
    const { name, file, digest, lines, begunAt } = delivery;
    const others = this.#statements.deliveries.all(name, file, digest).map(deliveryOfRow);
    const conflicts = conflictingDeliveries(delivery, others);
    if (conflicts.length === 0) this.#statements.addDelivery.run(name, file, digest, lines, begunAt);
    return conflicts;
  }

  delivery(name: string): StoredDelivery | undefined {
    const [row] = this.#statements.deliveries.all(name, null, null);
    return row && deliveryOfRow(row);
  }

  get(key: string): StoredEntry | undefined {
    const [row] = this.#statements.get.all(key);
    return row && entryOfRow(row);
  }

  list({ state, item, after, limit }: ListFilter): StoredEntry[] {
    const rows =
      item === undefined
        ? this.#statements.list.all(after, state ?? null, limit)
        : this.#statements.listOfItem.all(after, state ?? null, limit, itemToColumn(item));
    return rows.map(entryOfRow);
  }

  count(except: readonly string[]): OutboxCounts {
    return countsOfRow(this.#statements.count.all(JSON.stringify(except.map(itemToColumn)))[0]);
  }

  claim({ owner, leaseMs, limit, except }: Parameters<OutboxStore["claim"]>[0]): ClaimedItem[] {
    const now = this.#clock();
    const rows = this.#statements.claimable.all(now, JSON.stringify(except.map(itemToColumn)), limit);
    return rows.map((row) => {
      const entry = entryOfRow(row);
      this.#statements.lease.run(itemToColumn(entry.item), owner, now + leaseMs, leaseMs);
      return { item: entry.item, entry, unleasedMs: msSinceLeaseEnd(row, now), quietMs: remainingQuietMs(row, now) };
    });
  }

  renew({ owner, leaseMs, items }: Parameters<OutboxStore["renew"]>[0]): string[] {
    const now = this.#clock();
    const held = items.filter((item) => this.#isHeld(item, owner, now));
    for (const item of held) this.#statements.lease.run(itemToColumn(item), owner, now + leaseMs, leaseMs);
    return held;
  }

  release({ owner, item }: Parameters<OutboxStore["release"]>[0]): void {
    const now = this.#clock();
    if (this.#isHeld(item, owner, now)) this.#statements.lease.run(itemToColumn(item), owner, now, 0);
  }

  next(item: string): StoredEntry | undefined {
    const [row] = this.#statements.next.all(itemToColumn(item));
    const entry = row && entryOfRow(row);
    return entry?.state === "unknown" ? undefined : entry;
  }

  update(key: string, { state, attempts, owner }: EntryCondition, change: EntryChange): UpdateResult | undefined {
    const entry = this.get(key);
    if (!entry) return undefined;
    const isMet = state.includes(entry.state) && entry.attempts === attempts;
    if (!isMet || (owner !== undefined && !this.#isHeld(entry.item, owner, this.#clock()))) {
      return { changed: false, entry };
    }
    const columns = changedColumns(change);
    if (columns.length > 0) {
      const assignments = columns.map(({ column }) => `${column} = ?`);
      this.#database
        .prepare(`UPDATE stocklot_outbox_entries SET ${assignments} WHERE sequence = ?`)
        .run(...columns.map(({ value }) => value), entry.sequence);
    }
    if (change.quietMs !== undefined) this.#keepQuiet(entry.item, change.quietMs);
    return { changed: true, entry: this.get(key) ?? entry };
  }

  prune(settledBefore: number): number {
    return this.#statements.prune.all(settledBefore).length;
  }

  #isHeld(item: string, owner: string, now: number): boolean {
    return this.#statements.isHeld.all(now, itemToColumn(item), owner).length > 0;
  }

  /** An earlier wish that lasts longer takes precedence. */
  #keepQuiet(item: string, quietMs: number): void {
    const now = this.#clock();
    const column = itemToColumn(item);
    const [row = {}] = this.#statements.quiet.all(column);
    const longestMs = Math.max(remainingQuietMs(row, now), quietMs);
    this.#statements.keepQuiet.run(column, now + longestMs, longestMs);
  }
}

type ListFilter = Parameters<OutboxStore["list"]>[0];
type UpdateResult = { changed: boolean; entry: StoredEntry };
type SqliteEntryRow = Readonly<Record<string, unknown>>;

/** How long ago the lease ended, in ms; `undefined` if there was none, or if the clock has started again since. */
function msSinceLeaseEnd({ leased_until: until }: SqliteEntryRow, now: number): number | undefined {
  return typeof until === "number" && until <= now ? now - until : undefined;
}

/** How long nothing may be sent, in ms. After a restart of the machine, the whole time again. */
function remainingQuietMs({ quiet_until: until, quiet_ms: whole }: SqliteEntryRow, now: number): number {
  return typeof until === "number" ? Math.max(0, Math.min(until - now, Number(whole))) : 0;
}
