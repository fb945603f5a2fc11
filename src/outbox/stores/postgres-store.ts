import { randomBytes } from "node:crypto";
import * as z from "zod";
import { ConfigurationError } from "../../errors/index.js";
import { checkConfiguration } from "../../schemas/check.js";
import { lazy } from "../../schemas/field.js";
import { valueThat } from "../../schemas/option.js";
import { PostgresConnection } from "../../storage/postgres/connection.js";
import {
  isPostgresPool,
  isQueryable,
  missingSchema,
  type PostgresQueryable,
  queryRows,
  queryWithTextResult,
  usableSchema,
} from "../../storage/postgres/driver.js";
import type { ServiceIdentity } from "../../storage/service.js";
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
import {
  commandsFor,
  createStoreTableSql,
  LOCK_SQL,
  SCHEMA_STEPS,
  type TableNames,
  tableNames,
} from "./postgres-sql.js";

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
 * `stocklot_outbox_lanes` and `stocklot_outbox_store`. If they exist, the database user needs no right to create any.
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

/** How often a claim looks for other lanes, if other processes claim those that it has found at the same moment. */
const MAX_CLAIM_ATTEMPTS = 5;

/** Longer than any wait; an interval cannot be infinite. */
const MAX_QUIET_MS = 1e12;

type Commands = ReturnType<typeof commandsFor>;

interface OpenPostgresStore {
  readonly id: string;
  readonly commands: Commands;
}

/** Runs one command of the transaction. */
type RunCommand = (text: string, values: readonly unknown[]) => Promise<Row[]>;
type Row = Record<string, unknown>;

class PostgresOutboxStore implements OutboxStore {
  readonly #connection: PostgresConnection;
  readonly #givenSchema: string | undefined;
  #opened: Promise<OpenPostgresStore> | undefined;

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

  claimService({ id, address }: ServiceIdentity): Promise<string> {
    return this.#transaction(async (run, commands) => {
      await run(commands.claimService, [id, address]);
      const [row] = await run(commands.store, []);
      return String(row?.service);
    });
  }

  async add(added: readonly NewEntry[], transaction?: unknown): Promise<StoredEntry[]> {
    if (transaction === undefined) return this.#transaction((run, commands) => addEntries(run, commands, added));
    if (!isQueryable(transaction) || isPostgresPool(transaction)) {
      throw new ConfigurationError("outbox.add: client must be a Client of pg on which a transaction is open");
    }
    const { commands } = await this.#current;
    return await addEntries(commandRunner(this.#connection.joined(transaction)), commands, added);
  }

  beginDelivery(delivery: NewDelivery): Promise<StoredDelivery[]> {
    const { name, file, digest, lines, begunAt } = delivery;
    return this.#transaction(async (run, commands) => {
      await run(commands.lockDeliveries, []);
      const others = await run(commands.deliveries, [name, file, digest]);
      const conflicts = conflictingDeliveries(delivery, others.map(deliveryOfRow));
      if (conflicts.length === 0) await run(commands.addDelivery, [name, file, digest, lines, begunAt]);
      return conflicts;
    });
  }

  async delivery(name: string): Promise<StoredDelivery | undefined> {
    const [row] = await this.#rows(({ deliveries }) => deliveries, [name, null, null]);
    return row && deliveryOfRow(row);
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    const [row] = await this.#rows(({ get }) => get, [[key]]);
    return row && entryOfRow(row);
  }

  async list({ state, lane, after, limit }: Parameters<OutboxStore["list"]>[0]): Promise<StoredEntry[]> {
    const values = [after, state ?? null, lane === undefined ? null : laneToColumn(lane), limit];
    return (await this.#rows(({ list }) => list, values)).map(entryOfRow);
  }

  async count(except: readonly string[]): Promise<OutboxCounts> {
    const [row] = await this.#rows(({ count }) => count, [except.map(laneToColumn)]);
    return countsOfRow(row);
  }

  claim({ owner, leaseMs, limit, except }: Parameters<OutboxStore["claim"]>[0]): Promise<ClaimedLane[]> {
    return this.#transaction(async (run, commands) => {
      const claimed: ClaimedLane[] = [];
      const tried: unknown[] = except.map(laneToColumn);
      for (let attempt = 1; attempt <= MAX_CLAIM_ATTEMPTS && claimed.length < limit; attempt += 1) {
        const rows = await run(commands.claimable, [tried, limit - claimed.length]);
        if (rows.length === 0) break;
        const candidates = rows.map(({ lane }) => lane);
        claimed.push(...(await leaseFreeLanes(run, commands, candidates, owner, leaseMs)));
        tried.push(...candidates);
      }
      return claimed;
    });
  }

  async renew({ owner, leaseMs, lanes }: Parameters<OutboxStore["renew"]>[0]): Promise<string[]> {
    const rows = await this.#rows(({ renew }) => renew, [lanes.map(laneToColumn), owner, leaseMs]);
    const renewed = new Set(rows.map(({ lane }) => lane));
    return lanes.filter((lane) => renewed.has(laneToColumn(lane)));
  }

  async release({ owner, lane }: Parameters<OutboxStore["release"]>[0]): Promise<void> {
    await this.#rows(({ release }) => release, [laneToColumn(lane), owner]);
  }

  async next(lane: string): Promise<StoredEntry | undefined> {
    const [row] = await this.#rows(({ next }) => next, [laneToColumn(lane)]);
    const entry = row && entryOfRow(row);
    return entry?.state === "unknown" ? undefined : entry;
  }

  update(
    key: string,
    { state, attempts, owner }: EntryCondition,
    change: EntryChange,
  ): Promise<UpdateResult | undefined> {
    return this.#transaction(async (run, commands) => {
      // The lease stays locked until the change is committed.
      const isAllowed = owner === undefined || (await run(commands.lockLease, [key, owner])).length > 0;
      const columns = changedColumns(change);
      const assignments = columns.map(({ column }, index) => `${column} = $${index + 4}`);
      const values = [key, attempts, state, ...columns.map(({ value }) => value)];
      const [changed] = isAllowed ? await run(commands.change(assignments), values) : [];
      if (changed === undefined) {
        const [row] = await run(commands.get, [[key]]);
        return row && { changed: false, entry: entryOfRow(row) };
      }
      const entry = entryOfRow(changed);
      if (change.quietMs !== undefined)
        await run(commands.keepQuiet, [laneToColumn(entry.lane), Math.min(change.quietMs, MAX_QUIET_MS)]);
      return { changed: true, entry };
    });
  }

  async prune({ settledBefore }: { settledBefore: number }): Promise<number> {
    return (await this.#rows(({ prune }) => prune, [settledBefore])).length;
  }

  async #open(): Promise<OpenPostgresStore> {
    const schema = await usableSchema(this.#connection, this.#givenSchema);
    const names = tableNames(schema);
    const commands = commandsFor(names);
    const id =
      (await idOfCurrentTables(this.#connection, names, commands, schema)) ??
      (await this.#connection.transaction((session) => upgradeTables(session, names, commands, schema)));
    return { id, commands };
  }

  #rows(command: (commands: Commands) => string, values: readonly unknown[]): Promise<Row[]> {
    return this.#transaction((run, commands) => run(command(commands), values));
  }

  async #transaction<T>(work: (run: RunCommand, commands: Commands) => Promise<T>): Promise<T> {
    const { commands } = await this.#current;
    return await this.#connection.transaction((session) => work(commandRunner(session), commands));
  }

  get #current(): Promise<OpenPostgresStore> {
    if (this.#opened) return this.#opened;
    throw new ConfigurationError("postgresOutboxStore: the store is not open. Call open() first.");
  }
}

const commandRunner =
  (session: PostgresQueryable): RunCommand =>
  (text, values) =>
    queryRows(session, text, [...values]);

/** Leases those lanes that are still free, and returns them with their next entries. */
async function leaseFreeLanes(
  run: RunCommand,
  commands: Commands,
  candidates: readonly unknown[],
  owner: string,
  leaseMs: number,
): Promise<ClaimedLane[]> {
  await run(commands.addLanes, [candidates]);
  const free = await run(commands.lockFreeLanes, [candidates]);
  const times = new Map(free.map((row) => [row.lane, row]));
  // Read again: these entries may have changed before their lanes were locked.
  const first = (await run(commands.firstEntries, [[...times.keys()]])).map(entryOfRow);
  const claimed = first
    .filter(({ state }) => state !== "unknown")
    .map((entry): ClaimedLane => {
      const { unleased = null, quiet = null } = times.get(laneToColumn(entry.lane)) ?? {};
      const unleasedMs = unleased === null ? undefined : Number(unleased);
      return { lane: entry.lane, entry, unleasedMs, quietMs: Math.max(0, Number(quiet)) };
    });
  await run(commands.lease, [claimed.map(({ lane }) => laneToColumn(lane)), owner, leaseMs]);
  return claimed;
}

/** Adds all entries or none. In either case, the transaction can continue. */
async function addEntries(run: RunCommand, commands: Commands, added: readonly NewEntry[]): Promise<StoredEntry[]> {
  const keys = added.map(({ key }) => key);
  const storedEntries = async () => {
    const rows = await run(commands.get, [keys]);
    const found = new Map(rows.map(entryOfRow).map((entry) => [entry.key, entry]));
    return keys.flatMap((key) => found.get(key) ?? []);
  };
  const undo = () => run("ROLLBACK TO SAVEPOINT stocklot_outbox_add", []);
  await run("SAVEPOINT stocklot_outbox_add", []);
  try {
    await run(commands.insert, [
      keys,
      added.map(({ operation }) => operation),
      added.map(({ lane }) => laneToColumn(lane)),
      added.map(({ input }) => input),
      added.map(({ inputHash }) => inputHash),
      added.map(({ addedAt }) => addedAt),
      added.map(({ delivery }) => delivery ?? null),
    ]);
    const hashes = new Map(added.map(({ key, inputHash }) => [key, inputHash]));
    const stored = await storedEntries();
    if (stored.every(({ key, inputHash }) => hashes.get(key) === inputHash)) return stored;
  } catch (error) {
    await undo().catch(() => {});
    throw error;
  }
  await undo();
  return await storedEntries();
}

/** The id of a store whose tables are up to date. Then no right to create tables is needed. */
async function idOfCurrentTables(
  queryable: PostgresQueryable,
  names: TableNames,
  commands: Commands,
  schema: string,
): Promise<string | undefined> {
  const [found] = await queryRows(queryable, "SELECT to_regclass($1) AS name", [names.store]);
  if (typeof found?.name !== "string") return undefined;
  const [row] = await queryRows(queryable, commands.store);
  return row && missingSteps(SCHEMA_STEPS, Number(row.version), schema).length === 0 ? String(row.id) : undefined;
}

async function upgradeTables(
  session: PostgresQueryable,
  names: TableNames,
  { store, createStore }: Commands,
  schema: string,
): Promise<string> {
  await session.query(queryWithTextResult(LOCK_SQL));
  await session.query(
    queryWithTextResult([...(await missingSchema(session, schema)), createStoreTableSql(names)].join(";\n")),
  );
  const [row] = await queryRows(session, store);
  for (const step of missingSteps(SCHEMA_STEPS, Number(row?.version ?? 0), schema))
    await session.query(queryWithTextResult(step(names)));
  const id = String(row?.id ?? randomBytes(16).toString("hex"));
  await queryRows(session, createStore, [id, SCHEMA_STEPS.length]);
  return id;
}
