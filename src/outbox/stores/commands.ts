import { SELECTED_COLUMNS_SQL, SET_PROGRESS_SQL, STATE_COUNTS_SQL, UNSETTLED_STATES_SQL } from "./entry-row.js";

/*
 * The commands of a store in an SQL database, each in one place. `$1`, `$2` … are their values; a comment names them in order.
 *
 * Commands differ in locks and in the clock of leases. With PostgreSQL, transactions run at the same time, so a row that was
 * read must be locked before it is changed; with SQLite, a transaction locks all others out.
 */

/** The names of the tables, as they are written in SQL. */
export interface TableNames {
  /** Of the whole store: its id, its service, and the version of its tables. */
  readonly store: string;
  readonly entries: string;
  readonly lanes: string;
  readonly deliveries: string;
}

/** A command as PostgreSQL takes it; or one for each database, if {@link sqliteTextOf} cannot translate it. */
type CommandSql = string | { readonly postgres: string; readonly sqlite: string };

/** The SQL function of SQLite that returns the time by which leases are measured, in ms. */
export const CLOCK_FUNCTION = "stocklot_clock_ms";

const NOW = `${CLOCK_FUNCTION}()`;

/** The lane has a lease that has not ended. SQLite: one that seems to last longer than it can is from before a restart. */
const IS_LEASED = {
  postgres: "leased_until > clock_timestamp()",
  sqlite: `(leased_until > ${NOW} AND leased_until <= ${NOW} + lease_ms)`,
};

/** With SQLite: how long nothing may be sent, in ms. At the first claim after a restart of the machine, the whole time again. */
const QUIET_SQL = `max(0, min(quiet_until - ${NOW}, quiet_ms))`;

export function storeCommands({ store, entries, lanes, deliveries }: TableNames) {
  const selectSql = `SELECT ${SELECTED_COLUMNS_SQL} FROM ${entries} AS entry`;
  const nextEntriesSql = (wanted: string) => `
    ${selectSql} WHERE sequence IN (
      SELECT coalesce((SELECT sequence FROM ${entries} WHERE lane = first.lane AND state = 'sending'), first.sequence)
      FROM ${wanted} JOIN ${entries} AS first ON first.sequence = (
        SELECT sequence FROM ${entries}
        WHERE lane = wanted.lane AND state IN ${UNSETTLED_STATES_SQL} ORDER BY sequence LIMIT 1)
      WHERE first.state <> 'unknown')
    ORDER BY sequence`;
  const listSql = `${selectSql} WHERE sequence > $1 AND ($2::text IS NULL OR state = $2)`;
  return {
    store: `SELECT id, version, service FROM ${store}`,
    // id of the store, version
    createStore: {
      postgres: `
        INSERT INTO ${store} (only_row, id, version) VALUES (1, $1, $2)
        ON CONFLICT (only_row) DO UPDATE SET version = excluded.version`,
      sqlite: `
        INSERT INTO ${store} (only, id, version) VALUES (1, $1, $2)
        ON CONFLICT (only) DO UPDATE SET version = excluded.version`,
    },
    // id and address of the service
    claimService: `UPDATE ${store} SET service = $1 WHERE service IS NULL OR service = $2`,

    beginAdd: "SAVEPOINT stocklot_outbox_add",
    undoAdd: "ROLLBACK TO SAVEPOINT stocklot_outbox_add",
    // the rows as JSON
    insert: {
      postgres: `
        INSERT INTO ${entries} (key, operation, lane, input, input_hash, added_at, delivery)
        SELECT key, operation, lane, input, input_hash, added_at, delivery
        FROM ROWS FROM (json_to_recordset($1) AS (key text, operation text, lane text, input text, input_hash text,
          added_at double precision, delivery text)) WITH ORDINALITY
          AS added (key, operation, lane, input, input_hash, added_at, delivery, position)
        ORDER BY position ON CONFLICT (key) DO NOTHING`,
      sqlite: `
        INSERT INTO ${entries} (key, operation, lane, input, input_hash, added_at, delivery)
        SELECT value ->> 'key', value ->> 'operation', value ->> 'lane', value ->> 'input', value ->> 'input_hash',
          value ->> 'added_at', value ->> 'delivery'
        FROM json_each($1) WHERE true ORDER BY json_each.key ON CONFLICT (key) DO NOTHING`,
    },
    // Others that begin at the same time wait.
    lockDeliveries: {
      postgres: `LOCK TABLE ${deliveries} IN SHARE ROW EXCLUSIVE MODE`,
      sqlite: "SELECT 1",
    },
    // name, file, digest, lines, begunAt
    recordDelivery: `
      INSERT INTO ${deliveries} (name, file, digest, lines, begun_at) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (name) DO UPDATE SET file = excluded.file, digest = excluded.digest, lines = excluded.lines`,
    // name, file, digest: all of them null for no filter
    deliveries: `
      SELECT name, file, digest, lines, begun_at AS "begunAt", (
        SELECT json_object_agg(state, entries) FROM (
          SELECT state, count(*) AS entries FROM ${entries} WHERE delivery = name GROUP BY state) AS counted
      ) AS entries
      FROM ${deliveries}
      WHERE name = $1 OR file = $2 OR digest = $3 OR coalesce($1::text, $2, $3) IS NULL
      ORDER BY begun_at, name`,

    // keys
    get: `${selectSql} WHERE key = ANY ($1)`,
    // after, state (null: any), limit
    list: `${listSql} AND input IS NOT NULL ORDER BY sequence LIMIT $3`,
    // after, state (null: any), limit, lane
    listOfLane: `${listSql} AND input IS NOT NULL AND lane = $4 ORDER BY sequence LIMIT $3`,
    // after, state (null: any), limit, lane (null: any), delivery
    listOfDelivery: `
      ${listSql} AND ($4::text IS NULL OR lane = $4) AND delivery = $5 ORDER BY sequence LIMIT $3`,
    // lanes to leave out
    count: `
      WITH counted AS (
        SELECT state, count(*) AS entries FROM ${entries} WHERE lane <> ALL ($1) GROUP BY state
      ), blocked AS (
        SELECT lane, min(sequence) AS sequence FROM ${entries} WHERE state = 'unknown' AND lane <> ALL ($1) GROUP BY lane
      )
      SELECT ${STATE_COUNTS_SQL},
        (SELECT min(added_at) FROM ${entries} WHERE state IN ${UNSETTLED_STATES_SQL}) AS "oldestUnsettledAt",
        (SELECT count(*) FROM blocked JOIN ${entries} AS entry ON entry.lane = blocked.lane
          AND entry.sequence > blocked.sequence AND entry.state IN ('pending', 'sending')) AS "heldBack"`,

    // Lanes to leave out, limit. With PostgreSQL, a subquery per entry would take quadratic time.
    claimable: {
      postgres: `
        SELECT first.lane FROM (
          SELECT DISTINCT ON (lane) lane, sequence, state FROM ${entries} WHERE state IN ${UNSETTLED_STATES_SQL} ORDER BY lane, sequence
        ) AS first LEFT JOIN ${lanes} AS leased ON leased.lane = first.lane
        WHERE first.state <> 'unknown' AND first.lane <> ALL ($1) AND (${IS_LEASED.postgres}) IS NOT TRUE
        ORDER BY first.sequence LIMIT $2`,
      sqlite: `
        SELECT entry.lane AS lane FROM ${entries} AS entry LEFT JOIN ${lanes} AS leased ON leased.lane = entry.lane
        WHERE state IN ('pending', 'sending')
          AND NOT EXISTS (
            SELECT 1 FROM ${entries} AS earlier
            WHERE earlier.lane = entry.lane AND earlier.sequence < entry.sequence
              AND earlier.state IN ${UNSETTLED_STATES_SQL})
          AND entry.lane <> ALL ($1)
          AND ${IS_LEASED.sqlite} IS NOT TRUE
        ORDER BY sequence LIMIT $2`,
    },
    // Lanes. Sorted, so that two processes do not wait for each other.
    addLanes: {
      postgres: `INSERT INTO ${lanes} (lane) SELECT unnest($1::text[]) ORDER BY 1 ON CONFLICT DO NOTHING`,
      sqlite: `INSERT INTO ${lanes} (lane) SELECT value FROM json_each($1) WHERE true ON CONFLICT DO NOTHING`,
    },
    // Lanes. SQLite: without a time if the clock has started again since the lease was taken.
    lockFreeLanes: {
      postgres: `
        SELECT lane,
          extract(epoch FROM clock_timestamp() - leased_until) * 1000 AS unleased,
          extract(epoch FROM quiet_until - clock_timestamp()) * 1000 AS quiet, quiet_key AS "quietKey"
        FROM ${lanes} WHERE lane = ANY ($1) AND (${IS_LEASED.postgres}) IS NOT TRUE FOR UPDATE SKIP LOCKED`,
      sqlite: `
        SELECT lane, CASE WHEN leased_until <= ${NOW} THEN ${NOW} - leased_until END AS unleased, ${QUIET_SQL} AS quiet,
          quiet_key AS "quietKey"
        FROM ${lanes} WHERE lane = ANY ($1) AND ${IS_LEASED.sqlite} IS NOT TRUE`,
    },
    // Lanes. The next entry of each, see `OutboxStore.next`.
    nextEntries: {
      postgres: nextEntriesSql("unnest($1::text[]) AS wanted (lane)"),
      sqlite: nextEntriesSql("(SELECT value AS lane FROM json_each($1)) AS wanted"),
    },
    // lanes, owner, leaseMs
    lease: {
      postgres: `
        UPDATE ${lanes} SET owner = $2, leased_until = clock_timestamp() + $3::double precision * interval '1 millisecond'
        WHERE lane = ANY ($1)`,
      // If the machine was restarted, the quiet time is from now on measured by the clock that has started again.
      sqlite: `
        UPDATE ${lanes} SET owner = $2, leased_until = ${NOW} + $3, lease_ms = $3, quiet_until = ${NOW} + ${QUIET_SQL}
        WHERE lane = ANY ($1)`,
    },
    // lanes, owner, leaseMs
    renew: {
      postgres: `
        UPDATE ${lanes} SET leased_until = clock_timestamp() + $3::double precision * interval '1 millisecond'
        WHERE lane = ANY ($1) AND owner = $2 AND ${IS_LEASED.postgres} RETURNING lane`,
      sqlite: `
        UPDATE ${lanes} SET leased_until = ${NOW} + $3, lease_ms = $3
        WHERE lane = ANY ($1) AND owner = $2 AND ${IS_LEASED.sqlite} RETURNING lane`,
    },
    // lane, owner
    release: {
      postgres: `
        UPDATE ${lanes} SET leased_until = clock_timestamp() WHERE lane = $1 AND owner = $2 AND ${IS_LEASED.postgres}`,
      sqlite: `
        UPDATE ${lanes} SET leased_until = ${NOW}, lease_ms = 0 WHERE lane = $1 AND owner = $2 AND ${IS_LEASED.sqlite}`,
    },
    // key, owner
    lockLease: {
      postgres: `
        SELECT FROM ${lanes} WHERE lane = (SELECT lane FROM ${entries} WHERE key = $1) AND owner = $2
          AND ${IS_LEASED.postgres} FOR UPDATE`,
      sqlite: `
        SELECT 1 FROM ${lanes} WHERE lane = (SELECT lane FROM ${entries} WHERE key = $1) AND owner = $2
          AND ${IS_LEASED.sqlite}`,
    },

    // Keys. Sorted, so that two transactions do not wait for each other.
    lockEntries: `${selectSql} WHERE key = ANY ($1) ORDER BY sequence FOR UPDATE`,
    // key, then the values of `progressValues`
    change: `UPDATE ${entries} AS entry SET ${SET_PROGRESS_SQL} WHERE key = $1 RETURNING ${SELECTED_COLUMNS_SQL}`,
    // Lane, quietMs, key. A time that ends later stays. While that of another entry lasts, it is the time of no single one.
    keepQuiet: {
      postgres: `
        INSERT INTO ${lanes} AS lane (lane, quiet_until, quiet_key)
        VALUES ($1, clock_timestamp() + $2::double precision * interval '1 millisecond', $3)
        ON CONFLICT (lane) DO UPDATE SET
          quiet_until = greatest(lane.quiet_until, excluded.quiet_until),
          quiet_key = CASE WHEN lane.quiet_key = $3 OR (lane.quiet_until > clock_timestamp()) IS NOT TRUE THEN $3 END`,
      sqlite: `
        INSERT INTO ${lanes} (lane, quiet_until, quiet_ms, quiet_key) VALUES ($1, ${NOW} + $2, $2, $3)
        ON CONFLICT (lane) DO UPDATE SET
          quiet_until = ${NOW} + max($2, coalesce(${QUIET_SQL}, 0)), quiet_ms = max($2, coalesce(${QUIET_SQL}, 0)),
          quiet_key = CASE WHEN quiet_key = $3 OR (${QUIET_SQL} > 0) IS NOT TRUE THEN $3 END`,
    },
    // keys, settledAt, error (null: as it is)
    cancel: `
      UPDATE ${entries} SET state = 'canceled', settled_at = $2, error = coalesce($3, error) WHERE key = ANY ($1)`,
    // settledBefore
    prune: `
      UPDATE ${entries} SET input = NULL, body = NULL, result = NULL, error = CASE WHEN state = 'canceled' THEN error END
      WHERE state NOT IN ${UNSETTLED_STATES_SQL} AND settled_at < $1 AND input IS NOT NULL RETURNING 1`,
  } as const satisfies Record<string, CommandSql>;
}

/** A command of an outbox store. */
export type StoreCommand = keyof ReturnType<typeof storeCommands>;

export const postgresTextOf = (sql: CommandSql): string => (typeof sql === "string" ? sql : sql.postgres);

/** Arrays are bound as JSON, no value needs a type, and a transaction needs no locks. */
export const sqliteTextOf = (sql: CommandSql): string =>
  (typeof sql === "string" ? sql : sql.sqlite)
    .replace(/= ANY \((\$\d)\)/g, "IN (SELECT value FROM json_each($1))")
    .replace(/<> ALL \((\$\d)\)/g, "NOT IN (SELECT value FROM json_each($1))")
    .replaceAll("json_object_agg", "json_group_object")
    .replaceAll("::text", "")
    .replaceAll(" FOR UPDATE", "")
    .replaceAll("$", "?");

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
