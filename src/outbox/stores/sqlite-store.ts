import * as z from "zod";
import { ConfigurationError } from "../../errors/index.js";
import { checkConfiguration } from "../../schemas/check.js";
import { lazy } from "../../schemas/field.js";
import type { ServiceIdentity } from "../../storage/service.js";
import { SqliteConnection } from "../../storage/sqlite/connection.js";
import { findSqliteDriver, type SqliteDriver } from "../../storage/sqlite/driver.js";
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
import { SqliteEntries } from "./sqlite-entries.js";
import { prepareTables } from "./sqlite-schema.js";

/** Options of {@link sqliteOutboxStore}. */
export interface SqliteOutboxStoreOptions {
  /** Path of the database file; created if it does not exist. It may contain other tables. */
  path: string;
}

const sqliteStoreOptionsSchema = /* @__PURE__ */ lazy(() => z.strictObject({ path: z.string().min(1) }));

/**
 * Stores an outbox in an SQLite database, for processes of one machine. A commit waits until it is on the disk. The tables
 * are `stocklot_outbox_entries`, `stocklot_outbox_items` and `stocklot_outbox_store`.
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

interface OpenSqliteStore {
  readonly connection: SqliteConnection;
  readonly entries: SqliteEntries;
  readonly id: string;
}

/** Created by {@link sqliteOutboxStore}. */
export class SqliteOutboxStore implements OutboxStore {
  readonly #path: string;
  readonly #internals: SqliteStoreInternals;
  #opened: Promise<OpenSqliteStore> | undefined;

  constructor(options: SqliteOutboxStoreOptions, internals: SqliteStoreInternals = {}) {
    checkConfiguration("sqliteOutboxStore", sqliteStoreOptionsSchema(), options);
    this.#path = options.path;
    this.#internals = internals;
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

  claimService(service: ServiceIdentity): Promise<string> {
    return this.#write((entries) => entries.claimService(service));
  }

  async add(added: readonly NewEntry[], transaction?: unknown): Promise<StoredEntry[]> {
    if (transaction !== undefined) {
      throw new ConfigurationError(
        "sqliteOutboxStore: the option client is not supported. To join a transaction, use postgresOutboxStore.",
      );
    }
    return await this.#write((entries) => entries.add(added));
  }

  beginDelivery(delivery: NewDelivery): Promise<StoredDelivery[]> {
    return this.#write((entries) => entries.beginDelivery(delivery));
  }

  delivery(name: string): Promise<StoredDelivery | undefined> {
    return this.#read((entries) => entries.delivery(name));
  }

  get(key: string): Promise<StoredEntry | undefined> {
    return this.#read((entries) => entries.get(key));
  }

  list(filter: Parameters<OutboxStore["list"]>[0]): Promise<StoredEntry[]> {
    return this.#read((entries) => entries.list(filter));
  }

  count(except: readonly string[]): Promise<OutboxCounts> {
    return this.#read((entries) => entries.count(except));
  }

  claim(lease: Parameters<OutboxStore["claim"]>[0]): Promise<ClaimedItem[]> {
    return this.#write((entries) => entries.claim(lease));
  }

  renew(lease: Parameters<OutboxStore["renew"]>[0]): Promise<string[]> {
    return this.#write((entries) => entries.renew(lease));
  }

  release(lease: Parameters<OutboxStore["release"]>[0]): Promise<void> {
    return this.#write((entries) => entries.release(lease));
  }

  next(item: string): Promise<StoredEntry | undefined> {
    return this.#read((entries) => entries.next(item));
  }

  update(
    key: string,
    condition: EntryCondition,
    change: EntryChange,
  ): Promise<{ changed: boolean; entry: StoredEntry } | undefined> {
    return this.#write((entries) => entries.update(key, condition, change));
  }

  prune({ settledBefore }: { settledBefore: number }): Promise<number> {
    return this.#write((entries) => entries.prune(settledBefore));
  }

  async #open(): Promise<OpenSqliteStore> {
    const { clock = monotonicUptimeMs, loadDriver = findSqliteDriver, lockWaitMs } = this.#internals;
    const connection = await SqliteConnection.open({
      path: this.#path,
      synchronous: "FULL",
      loadDriver,
      ...(lockWaitMs !== undefined && { lockWaitMs }),
    });
    try {
      return await connection.transaction((database) => {
        const id = prepareTables(database, this.#path);
        return { connection, id, entries: new SqliteEntries(database, clock) };
      });
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  async #read<T>(action: (entries: SqliteEntries) => T): Promise<T> {
    const { connection, entries } = await this.#current;
    return await connection.read(() => action(entries));
  }

  async #write<T>(action: (entries: SqliteEntries) => T): Promise<T> {
    const { connection, entries } = await this.#current;
    return await connection.transaction(() => action(entries));
  }

  get #current(): Promise<OpenSqliteStore> {
    if (this.#opened) return this.#opened;
    throw new ConfigurationError("sqliteOutboxStore: the store is not open. Call open() first.");
  }
}
