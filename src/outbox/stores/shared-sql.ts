import {
  SELECTED_COLUMNS_SQL,
  STATE_COUNTS_SQL,
  selectEntriesSql,
  setProgressSql,
  UNSETTLED_STATES_SQL,
} from "./entry-row.js";

/** The names of the tables, as they are written in SQL. */
export interface TableNames {
  /** Of the whole store: its id, and the version of its tables. */
  readonly store: string;
  readonly entries: string;
  readonly lanes: string;
  readonly deliveries: string;
}

/** How the SQL of a database differs. The values of a command have numbers from 1. */
export interface SqlDialect {
  readonly names: TableNames;
  value(number: number): string;
  /** A value that may be null. */
  optionalText(number: number): string;
  /** The column is one of the members of an array. */
  isOneOf(column: string, number: number): string;
  isNoneOf(column: string, number: number): string;
  /** The aggregate function that makes a JSON object. */
  readonly jsonObject: string;
}

/**
 * The commands that need neither locks nor the clock of leases: the same for all databases. A comment names the values
 * of each command with more than one, in order.
 */
export function sharedCommands({ names, value, optionalText, isOneOf, isNoneOf, jsonObject }: SqlDialect) {
  const { store, entries, deliveries } = names;
  const selectSql = selectEntriesSql(entries);
  const listSql = `${selectSql} WHERE sequence > ${value(1)} AND (${optionalText(2)} IS NULL OR state = ${value(2)})`;
  const inOrderSql = `ORDER BY sequence LIMIT ${value(3)}`;
  return {
    store: `SELECT id, version, service FROM ${store}`,
    // id and address of the service
    claimService: `UPDATE ${store} SET service = ${value(1)} WHERE service IS NULL OR service = ${value(2)}`,

    beginAdd: "SAVEPOINT stocklot_outbox_add",
    undoAdd: "ROLLBACK TO SAVEPOINT stocklot_outbox_add",
    // name, file, digest, lines, begunAt
    recordDelivery: `
      INSERT INTO ${deliveries} (name, file, digest, lines, begun_at)
      VALUES (${value(1)}, ${value(2)}, ${value(3)}, ${value(4)}, ${value(5)})
      ON CONFLICT (name) DO UPDATE SET file = excluded.file, digest = excluded.digest, lines = excluded.lines`,
    // name, file, digest: all of them null for no filter
    deliveries: `
      SELECT name, file, digest, lines, begun_at AS "begunAt", (
        SELECT ${jsonObject}(state, entries) FROM (
          SELECT state, count(*) AS entries FROM ${entries} WHERE delivery = name GROUP BY state) AS counted
      ) AS entries
      FROM ${deliveries}
      WHERE name = ${value(1)} OR file = ${value(2)} OR digest = ${value(3)}
        OR coalesce(${optionalText(1)}, ${value(2)}, ${value(3)}) IS NULL
      ORDER BY begun_at, name`,

    get: `${selectSql} WHERE ${isOneOf("key", 1)}`,
    // after, state (null: any), limit
    list: `${listSql} AND input IS NOT NULL ${inOrderSql}`,
    // after, state (null: any), limit, lane
    listOfLane: `${listSql} AND input IS NOT NULL AND lane = ${value(4)} ${inOrderSql}`,
    // after, state (null: any), limit, lane (null: any), delivery
    listOfDelivery: `
      ${listSql} AND (${optionalText(4)} IS NULL OR lane = ${value(4)}) AND delivery = ${value(5)} ${inOrderSql}`,
    count: `
      WITH counted AS (
        SELECT state, count(*) AS entries FROM ${entries} WHERE ${isNoneOf("lane", 1)} GROUP BY state
      ), blocked AS (
        SELECT lane, min(sequence) AS sequence FROM ${entries} WHERE state = 'unknown' AND ${isNoneOf("lane", 1)} GROUP BY lane
      )
      SELECT ${STATE_COUNTS_SQL},
        (SELECT min(added_at) FROM ${entries} WHERE state IN ${UNSETTLED_STATES_SQL}) AS "oldestUnsettledAt",
        (SELECT count(*) FROM blocked JOIN ${entries} AS entry ON entry.lane = blocked.lane
          AND entry.sequence > blocked.sequence AND entry.state IN ('pending', 'sending')) AS "heldBack"`,
    prune: `
      UPDATE ${entries} SET input = NULL, body = NULL, result = NULL, error = CASE WHEN state = 'canceled' THEN error END
      WHERE state NOT IN ${UNSETTLED_STATES_SQL} AND settled_at < ${value(1)} AND input IS NOT NULL RETURNING 1`,
    // key, then the values of `progressValues`
    change: `
      UPDATE ${entries} AS entry SET ${setProgressSql(value)} WHERE key = ${value(1)}
      RETURNING ${SELECTED_COLUMNS_SQL}`,
    // keys, settledAt, error (null: as it is)
    cancel: `
      UPDATE ${entries} SET state = 'canceled', settled_at = ${value(2)}, error = coalesce(${value(3)}, error)
      WHERE ${isOneOf("key", 1)}`,
  };
}

/** The commands that each database has in its own form. After each, its values in order. */
export type OwnCommand =
  | "createStore" // id of the store, version
  | "insert" // the rows as JSON
  | "lockDeliveries"
  | "claimable" // lanes to leave out, limit
  | "addLanes" // lanes
  | "lockFreeLanes" // lanes
  | "firstEntries" // lanes
  | "lease" // lanes, owner, leaseMs
  | "renew" // lanes, owner, leaseMs
  | "release" // lane, owner
  | "lockLease" // key, owner
  | "lockEntries" // keys
  | "keepQuiet"; // lane, quietMs

/** A command of an outbox store. */
export type StoreCommand = OwnCommand | keyof ReturnType<typeof sharedCommands>;

type Value = string | number | null;

/** One command of a transaction. An array is one value. */
export interface Command {
  command: StoreCommand;
  values: readonly (Value | readonly Value[])[];
}

type Rows = readonly unknown[];

/**
 * Yields the commands of a transaction, and receives the rows of each. With PostgreSQL, a command that fails throws there, so
 * that its part of the caller's transaction can be undone. With SQLite, the transaction is rolled back.
 */
export type Operation<T> = Generator<Command, T, Rows>;

/** Runs one command. */
export function* execute(command: StoreCommand, values: Command["values"] = []): Operation<Rows> {
  return yield { command, values };
}
