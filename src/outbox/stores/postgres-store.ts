import * as z from "zod";
import { ConfigurationError } from "../../errors/index.js";
import { checkConfiguration } from "../../schemas/check.js";
import { lazy } from "../../schemas/field.js";
import { valueThat } from "../../schemas/option.js";
import { PostgresConnection } from "../../storage/postgres/connection.js";
import {
  isPostgresPool,
  isQueryable,
  type PostgresQueryable,
  queryWithTextResult,
  usableSchema,
} from "../../storage/postgres/driver.js";
import type { ServiceIdentity } from "../../storage/service.js";
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
import { itemToColumn } from "./entry-row.js";
import { PostgresEntries } from "./postgres-entries.js";
import { prepareTables, type TableNames, tableNames } from "./postgres-schema.js";

/** Options of {@link postgresOutboxStore}: exactly one of `pool` and `connectionString`. */
export interface PostgresOutboxStoreOptions {
  /**
   * A `Pool` of `pg`. The outbox never closes it.
   * @default one of `pool` and `connectionString` is required
   */
  pool?: PostgresQueryable | undefined;
  /**
   * URL of the database. The store opens up to four connections of its own, which requires the package `pg`.
   * @default see `pool`
   */
  connectionString?: string | undefined;
  /**
   * The schema of the tables; created if it does not exist.
   * @default the first of the search_path that exists
   */
  schema?: string | undefined;
}

const postgresStoreOptionsSchema = /* @__PURE__ */ lazy(() =>
  z
    .strictObject({
      pool: valueThat<PostgresQueryable>(isPostgresPool, "must be a Pool of pg"),
      connectionString: z.string().min(1),
      schema: z.string().min(1),
    })
    .partial()
    .refine(({ pool, connectionString }) => (pool === undefined) !== (connectionString === undefined), {
      error: "exactly one of pool and connectionString is required",
    }),
);

/**
 * Stores an outbox in PostgreSQL, for processes on any machine. The tables are `stocklot_outbox_entries`,
 * `stocklot_outbox_items` and `stocklot_outbox_store`. If they exist, the database user needs no right to create any.
 *
 * A commit waits until it is on the disk of the server (`synchronous_commit = on`), whatever the configuration of the
 * database. After a failover to a replica that lags behind, or after a backup is restored, the outbox may resend writes
 * that were sent before. Leases are measured by the clock of the database.
 *
 * With `outbox.add(entry, { client })`, the entry becomes part of the transaction that is open on that `Client` of
 * `pg`.
 *
 * @throws ConfigurationError when the options are wrong.
 */
export function postgresOutboxStore(options: PostgresOutboxStoreOptions): OutboxStore {
  checkConfiguration("postgresOutboxStore", postgresStoreOptionsSchema(), options);
  const { schema, ...source } = options;
  return new PostgresOutboxStore(
    new PostgresConnection({ ...source, maxConnections: MAX_CONNECTIONS, durable: true }),
    schema,
  );
}

/** By default, this many requests are in flight at the same time. */
const MAX_CONNECTIONS = 4;

/** How often a claim looks for other items, if other processes claim those that it has found at the same moment. */
const MAX_CLAIM_ATTEMPTS = 5;

class PostgresOutboxStore implements OutboxStore {
  readonly #connection: PostgresConnection;
  readonly #givenSchema: string | undefined;
  #opened: Promise<{ id: string; names: TableNames }> | undefined;

  constructor(connection: PostgresConnection, givenSchema: string | undefined) {
    this.#connection = connection;
    this.#givenSchema = givenSchema;
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
    this.#opened = undefined;
    await this.#connection.close();
  }

  claimService(service: ServiceIdentity): Promise<string> {
    return this.#transaction((entries) => entries.claimService(service));
  }

  async add(added: readonly NewEntry[], transaction?: unknown): Promise<StoredEntry[]> {
    if (transaction === undefined)
      return await this.#transaction((entries, session) => addEntries(entries, session, added));
    if (!isQueryable(transaction) || isPostgresPool(transaction)) {
      throw new ConfigurationError("outbox.add: client must be a Client of pg on which a transaction is open");
    }
    const session = this.#connection.joined(transaction);
    return await addEntries(new PostgresEntries(session, await this.#names), session, added);
  }

  beginDelivery(delivery: NewDelivery): Promise<StoredDelivery[]> {
    return this.#transaction((entries) => entries.beginDelivery(delivery));
  }

  delivery(name: string): Promise<StoredDelivery | undefined> {
    return this.#transaction((entries) => entries.delivery(name));
  }

  get(key: string): Promise<StoredEntry | undefined> {
    return this.#transaction((entries) => entries.get(key));
  }

  list(filter: Parameters<OutboxStore["list"]>[0]): Promise<StoredEntry[]> {
    return this.#transaction((entries) => entries.list(filter));
  }

  count(except: readonly string[]): Promise<OutboxCounts> {
    return this.#transaction((entries) => entries.count(except));
  }

  claim({ owner, leaseMs, limit, except }: Parameters<OutboxStore["claim"]>[0]): Promise<ClaimedItem[]> {
    return this.#transaction(async (entries) => {
      const claimed: ClaimedItem[] = [];
      const tried = except.map(itemToColumn);
      for (let attempt = 1; attempt <= MAX_CLAIM_ATTEMPTS && claimed.length < limit; attempt += 1) {
        const candidates = await entries.claimable(limit - claimed.length, tried);
        if (candidates.length === 0) break;
        claimed.push(...(await entries.lease(candidates, owner, leaseMs)));
        tried.push(...candidates);
      }
      return claimed;
    });
  }

  renew({ owner, leaseMs, items }: Parameters<OutboxStore["renew"]>[0]): Promise<string[]> {
    return this.#transaction((entries) => entries.renew(items, owner, leaseMs));
  }

  release({ owner, item }: Parameters<OutboxStore["release"]>[0]): Promise<void> {
    return this.#transaction((entries) => entries.release(item, owner));
  }

  next(item: string): Promise<StoredEntry | undefined> {
    return this.#transaction((entries) => entries.next(item));
  }

  update(
    key: string,
    condition: EntryCondition,
    change: EntryChange,
  ): Promise<{ changed: boolean; entry: StoredEntry } | undefined> {
    const { owner } = condition;
    return this.#transaction(async (entries) => {
      const isAllowed = owner === undefined || (await entries.lockLease(key, owner));
      const changed = isAllowed ? await entries.change(key, condition, change) : undefined;
      if (changed && change.quietMs !== undefined) await entries.keepQuiet(changed.item, change.quietMs);
      const entry = changed ?? (await entries.get(key));
      return entry && { changed: changed !== undefined, entry };
    });
  }

  prune({ settledBefore }: { settledBefore: number }): Promise<number> {
    return this.#transaction((entries) => entries.prune(settledBefore));
  }

  async #open(): Promise<{ id: string; names: TableNames }> {
    const schema = await usableSchema(this.#connection, this.#givenSchema);
    return { id: await prepareTables(this.#connection, schema), names: tableNames(schema) };
  }

  async #transaction<T>(work: (entries: PostgresEntries, session: PostgresQueryable) => Promise<T>): Promise<T> {
    const names = await this.#names;
    return await this.#connection.transaction((session) => work(new PostgresEntries(session, names), session));
  }

  get #names(): Promise<TableNames> {
    if (this.#opened) return this.#opened.then(({ names }) => names);
    throw new ConfigurationError("postgresOutboxStore: the store is not open. Call open() first.");
  }
}

const SAVEPOINT_NAME = "stocklot_outbox_add";

/** Adds all entries or none. In either case, the transaction can continue. */
async function addEntries(
  entries: PostgresEntries,
  session: PostgresQueryable,
  added: readonly NewEntry[],
): Promise<StoredEntry[]> {
  const hashes = new Map(added.map(({ key, inputHash }) => [key, inputHash]));
  const undo = () => session.query(queryWithTextResult(`ROLLBACK TO SAVEPOINT ${SAVEPOINT_NAME}`));
  await session.query(queryWithTextResult(`SAVEPOINT ${SAVEPOINT_NAME}`));
  try {
    const stored = await entries.insert(added);
    if (stored.every(({ key, inputHash }) => hashes.get(key) === inputHash)) return stored;
  } catch (error) {
    await undo().catch(() => {});
    throw error;
  }
  await undo();
  return await entries.find([...hashes.keys()]);
}
