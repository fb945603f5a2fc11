import { randomBytes } from "node:crypto";
import * as z from "zod";
import { ConfigurationError } from "../../errors/index.js";
import { checkConfiguration } from "../../schemas/check.js";
import { lazy } from "../../schemas/field.js";
import type { ServiceIdentity } from "../../storage/service.js";
import { SqliteConnection } from "../../storage/sqlite/connection.js";
import {
  findSqliteDriver,
  type SqliteDatabase,
  type SqliteDriver,
  type SqliteStatement,
} from "../../storage/sqlite/driver.js";
import { missingSteps } from "../../storage/tables.js";
import type {
  ClaimedLane,
  EntryChange,
  EntryCondition,
  NewDelivery,
  NewEntry,
  OutboxCounts,
  OutboxStore,
  StoredDelivery,
  StoredEntry,
  UpdateResult,
} from "../store.js";
import {
  changedColumns,
  conflictingDeliveries,
  countsOfRow,
  deliveryOfRow,
  entryOfRow,
  laneToColumn,
} from "./entry-row.js";
import { CREATE_STORE_TABLE_SQL, SCHEMA_STEPS, STATEMENTS } from "./sqlite-sql.js";

/** Options of {@link sqliteOutboxStore}. */
export interface SqliteOutboxStoreOptions {
  /** Path of the database file; created if it does not exist. It may contain other tables. */
  path: string;
}

const sqliteStoreOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject({ path: z.string().min(1) }));

/**
 * Stores an outbox in an SQLite database, for processes of one machine. A commit waits until it is on the disk. The tables
 * are `stocklot_outbox_entries`, `stocklot_outbox_lanes` and `stocklot_outbox_store`.
 *
 * Leases are measured by the monotonic clock of the machine, which all its processes share. Changes of the system time
 * have no effect. The file must not be on a network drive, and must not be copied while it is open; use `VACUUM INTO`
 * for a copy.
 *
 * The driver is `node:sqlite` if Node.js has it (22.13 and later), otherwise the package `@photostructure/sqlite`.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export function sqliteOutboxStore(options: SqliteOutboxStoreOptions): OutboxStore {
  return new SqliteOutboxStore(options);
}

/** What tests replace. */
export interface SqliteStoreInternals {
  loadDriver?: () => Promise<SqliteDriver>;
  lockWaitMs?: number;
  /** The clock of leases, in ms; all processes must share it. */
  clock?: () => number;
}

const NS_PER_MS = 1_000_000n;

/** Time since the machine was started, in ms. */
const monotonicUptimeMs = () => Number(process.hrtime.bigint() / NS_PER_MS);

type SqliteRow = Readonly<Record<string, unknown>>;
type Statements = Readonly<Record<keyof typeof STATEMENTS, SqliteStatement>>;

interface OpenSqliteStore {
  readonly connection: SqliteConnection;
  readonly database: SqliteDatabase;
  readonly statements: Statements;
  readonly id: string;
}

/** Created by {@link sqliteOutboxStore}. */
export class SqliteOutboxStore implements OutboxStore {
  readonly #path: string;
  readonly #internals: SqliteStoreInternals;
  readonly #clock: () => number;
  #opened: Promise<OpenSqliteStore> | undefined;

  constructor(options: SqliteOutboxStoreOptions, internals: SqliteStoreInternals = {}) {
    checkConfiguration("sqliteOutboxStore", sqliteStoreOptionsSchema(), options);
    this.#path = options.path;
    this.#internals = internals;
    this.#clock = internals.clock ?? monotonicUptimeMs;
  }

  async open(): Promise<string> {
    this.#opened ??= this.#open();
    try {
      return (await this.#opened).id;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    // If it could not be opened, there is nothing to close.
    const store = await opened?.catch(() => undefined);
    await store?.connection.close();
  }

  claimService({ id, address }: ServiceIdentity): Promise<string> {
    return this.#write(({ claimService, store }) => {
      claimService.run(id, address);
      return String(store.all()[0]?.service);
    });
  }

  async add(added: readonly NewEntry[], transaction?: unknown): Promise<StoredEntry[]> {
    if (transaction !== undefined) {
      throw new ConfigurationError(
        "sqliteOutboxStore: the option client is not supported. To join a transaction, use postgresOutboxStore.",
      );
    }
    return this.#write(({ get, insert }) => {
      const stored = () => added.flatMap(({ key }) => entryIn(get.all(key)) ?? []);
      const existing = stored();
      const hashes = new Map(existing.map(({ key, inputHash }) => [key, inputHash]));
      if (added.some(({ key, inputHash }) => (hashes.get(key) ?? inputHash) !== inputHash)) return existing;
      for (const { key, operation, lane, input, inputHash, addedAt, delivery = null } of added) {
        if (!hashes.has(key)) insert.run(key, operation, laneToColumn(lane), input, inputHash, addedAt, delivery);
        hashes.set(key, inputHash);
      }
      return stored();
    });
  }

  beginDelivery(delivery: NewDelivery): Promise<StoredDelivery[]> {
    const { name, file, digest, lines, begunAt } = delivery;
    return this.#write(({ deliveries, addDelivery }) => {
      const conflicts = conflictingDeliveries(delivery, deliveries.all(name, file, digest).map(deliveryOfRow));
      if (conflicts.length === 0) addDelivery.run(name, file, digest, lines, begunAt);
      return conflicts;
    });
  }

  async delivery(name: string): Promise<StoredDelivery | undefined> {
    const [row] = await this.#read(({ deliveries }) => deliveries.all(name, null, null));
    return row && deliveryOfRow(row);
  }

  get(key: string): Promise<StoredEntry | undefined> {
    return this.#read(({ get }) => entryIn(get.all(key)));
  }

  list({ state, lane, after, limit }: Parameters<OutboxStore["list"]>[0]): Promise<StoredEntry[]> {
    return this.#read(({ list, listOfLane }) => {
      const rows =
        lane === undefined
          ? list.all(after, state ?? null, limit)
          : listOfLane.all(after, state ?? null, limit, laneToColumn(lane));
      return rows.map(entryOfRow);
    });
  }

  count(except: readonly string[]): Promise<OutboxCounts> {
    return this.#read(({ count }) => countsOfRow(count.all(JSON.stringify(except.map(laneToColumn)))[0]));
  }

  claim({ owner, leaseMs, limit, except }: Parameters<OutboxStore["claim"]>[0]): Promise<ClaimedLane[]> {
    return this.#write(({ claimable, lease }) => {
      const now = this.#clock();
      return claimable.all(now, JSON.stringify(except.map(laneToColumn)), limit).map((row) => {
        const entry = entryOfRow(row);
        lease.run(laneToColumn(entry.lane), owner, now + leaseMs, leaseMs);
        return { lane: entry.lane, entry, unleasedMs: msSinceLeaseEnd(row, now), quietMs: remainingQuietMs(row, now) };
      });
    });
  }

  renew({ owner, leaseMs, lanes }: Parameters<OutboxStore["renew"]>[0]): Promise<string[]> {
    return this.#write((statements) => {
      const now = this.#clock();
      const held = lanes.filter((lane) => isHeld(statements, lane, owner, now));
      for (const lane of held) statements.lease.run(laneToColumn(lane), owner, now + leaseMs, leaseMs);
      return held;
    });
  }

  release({ owner, lane }: Parameters<OutboxStore["release"]>[0]): Promise<void> {
    return this.#write((statements) => {
      const now = this.#clock();
      if (isHeld(statements, lane, owner, now)) statements.lease.run(laneToColumn(lane), owner, now, 0);
    });
  }

  async next(lane: string): Promise<StoredEntry | undefined> {
    const entry = await this.#read(({ next }) => entryIn(next.all(laneToColumn(lane))));
    return entry?.state === "unknown" ? undefined : entry;
  }

  update(
    key: string,
    { state, attempts, owner }: EntryCondition,
    change: EntryChange,
  ): Promise<UpdateResult | undefined> {
    return this.#write((statements, database) => {
      const entry = entryIn(statements.get.all(key));
      if (!entry) return undefined;
      const now = this.#clock();
      const isMet = state.includes(entry.state) && entry.attempts === attempts;
      if (!isMet || (owner !== undefined && !isHeld(statements, entry.lane, owner, now)))
        return { changed: false, entry };
      const columns = changedColumns(change);
      if (columns.length > 0)
        database
          .prepare(
            `UPDATE stocklot_outbox_entries SET ${columns.map(({ column }) => `${column} = ?`)} WHERE sequence = ?`,
          )
          .run(...columns.map(({ value }) => value), entry.sequence);
      if (change.quietMs !== undefined) keepQuiet(statements, entry.lane, change.quietMs, now);
      return { changed: true, entry: entryIn(statements.get.all(key)) ?? entry };
    });
  }

  prune({ settledBefore }: { settledBefore: number }): Promise<number> {
    return this.#write(({ prune }) => prune.all(settledBefore).length);
  }

  async #open(): Promise<OpenSqliteStore> {
    const { loadDriver = findSqliteDriver, lockWaitMs } = this.#internals;
    const connection = await SqliteConnection.open({
      path: this.#path,
      synchronous: "FULL",
      loadDriver,
      ...(lockWaitMs !== undefined && { lockWaitMs }),
    });
    try {
      return await connection.transaction((database) => ({ connection, database, ...prepare(database, this.#path) }));
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  async #read<T>(action: (statements: Statements) => T): Promise<T> {
    const { connection, statements } = await this.#current;
    return await connection.read(() => action(statements));
  }

  async #write<T>(action: (statements: Statements, database: SqliteDatabase) => T): Promise<T> {
    const { connection, statements } = await this.#current;
    return await connection.transaction((database) => action(statements, database));
  }

  get #current(): Promise<OpenSqliteStore> {
    if (this.#opened) return this.#opened;
    throw new ConfigurationError("sqliteOutboxStore: the store is not open. Call open() first.");
  }
}

/** Creates or upgrades the tables, in the caller's transaction. */
function prepare(database: SqliteDatabase, path: string): { id: string; statements: Statements } {
  database.exec(CREATE_STORE_TABLE_SQL);
  const [store] = database.prepare(STATEMENTS.store).all();
  for (const step of missingSteps(SCHEMA_STEPS, Number(store?.version ?? 0), path)) database.exec(step);
  const prepared = Object.entries(STATEMENTS).map(([name, sql]) => [name, database.prepare(sql)]);
  const statements = Object.fromEntries(prepared) as Statements;
  const id = String(store?.id ?? randomBytes(16).toString("hex"));
  statements.createStore.run(id, SCHEMA_STEPS.length);
  return { id, statements };
}

const entryIn = ([row]: SqliteRow[]): StoredEntry | undefined => row && entryOfRow(row);

const isHeld = (statements: Statements, lane: string, owner: string, now: number): boolean =>
  statements.isHeld.all(now, laneToColumn(lane), owner).length > 0;

/** An earlier wish that lasts longer takes precedence. */
function keepQuiet(statements: Statements, lane: string, quietMs: number, now: number): void {
  const column = laneToColumn(lane);
  const [row = {}] = statements.quiet.all(column);
  const longestMs = Math.max(remainingQuietMs(row, now), quietMs);
  statements.keepQuiet.run(column, now + longestMs, longestMs);
}

/** How long ago the lease ended, in ms; `undefined` if there was none, or if the clock has started again since. */
function msSinceLeaseEnd({ leased_until: until }: SqliteRow, now: number): number | undefined {
  return typeof until === "number" && until <= now ? now - until : undefined;
}

/** How long nothing may be sent, in ms. After a restart of the machine, the whole time again. */
function remainingQuietMs({ quiet_until: until, quiet_ms: whole }: SqliteRow, now: number): number {
  return typeof until === "number" ? Math.max(0, Math.min(until - now, Number(whole))) : 0;
}
