import { quoteName } from "../../storage/tables.js";
import { SELECTED_COLUMNS_SQL, selectEntriesSql, UNSETTLED_STATES_SQL } from "./entry-row.js";
import { type OwnCommand, type StoreCommand, sharedCommands, type TableNames } from "./shared-sql.js";

export function tableNames(schema: string): TableNames {
  const nameOf = (name: string) => `${quoteName(schema)}.stocklot_outbox_${name}`;
  return {
    store: nameOf("store"),
    entries: nameOf("entries"),
    lanes: nameOf("lanes"),
    deliveries: nameOf("deliveries"),
  };
}

/** Two processes that start at the same time create the tables one after the other. */
export const LOCK_SQL = "SELECT pg_advisory_xact_lock(hashtext('stocklot outbox'))";

export const createStoreTableSql = ({ store }: TableNames) => `
CREATE TABLE IF NOT EXISTS ${store} (
  only_row smallint PRIMARY KEY CHECK (only_row = 1),
  id text NOT NULL,
  service text,
  version integer NOT NULL
)`;

/** Step by step, from version to version. A step that was released must not be changed. */
export const SCHEMA_STEPS: readonly ((names: TableNames) => string)[] = [
  ({ entries, lanes, deliveries }) => `
CREATE TABLE ${entries} (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key text COLLATE "C" NOT NULL UNIQUE,
  operation text NOT NULL,
  lane text COLLATE "C" NOT NULL,
  input text,
  input_hash text NOT NULL,
  added_at double precision NOT NULL,
  delivery text COLLATE "C",
  state text NOT NULL DEFAULT 'pending',
  attempts integer NOT NULL DEFAULT 0,
  body text,
  sent_at double precision,
  clock_ahead_ms double precision,
  settled_at double precision,
  result text,
  error text
);
CREATE INDEX stocklot_outbox_by_lane ON ${entries} (lane, sequence);
CREATE INDEX stocklot_outbox_counted ON ${entries} (state, lane);
CREATE INDEX stocklot_outbox_to_send ON ${entries} (sequence) WHERE state IN ('pending', 'sending');
CREATE INDEX stocklot_outbox_unsettled ON ${entries} (lane, sequence) WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX stocklot_outbox_of_delivery ON ${entries} (delivery, state) WHERE delivery IS NOT NULL;
CREATE TABLE ${deliveries} (
  name text COLLATE "C" PRIMARY KEY,
  file text NOT NULL,
  digest text NOT NULL,
  lines integer NOT NULL,
  begun_at double precision NOT NULL
);
CREATE TABLE ${lanes} (
  lane text COLLATE "C" PRIMARY KEY,
  owner text,
  leased_until timestamptz,
  quiet_until timestamptz
) WITH (fillfactor = 50)`,
];

const IS_LEASED_SQL = "leased_until > clock_timestamp()";

/** The commands of an outbox store. `$1`, `$2` … are their values. */
export const commandsFor = (names: TableNames): Readonly<Record<StoreCommand, string>> => ({
  ...sharedCommands({
    names,
    value: (number) => `$${number}`,
    optionalText: (number) => `$${number}::text`,
    isOneOf: (column, number) => `${column} = ANY ($${number})`,
    isNoneOf: (column, number) => `${column} <> ALL ($${number})`,
    jsonObject: "json_object_agg",
  }),
  ...ownCommands(names),
});

function ownCommands({ store, entries, lanes, deliveries }: TableNames): Record<OwnCommand, string> {
  const selectSql = selectEntriesSql(entries);
  return {
    createStore: `
      INSERT INTO ${store} (only_row, id, version) VALUES (1, $1, $2)
      ON CONFLICT (only_row) DO UPDATE SET version = excluded.version`,
    insert: `
      INSERT INTO ${entries} (key, operation, lane, input, input_hash, added_at, delivery)
      SELECT key, operation, lane, input, input_hash, added_at, delivery
      FROM ROWS FROM (json_to_recordset($1) AS (key text, operation text, lane text, input text, input_hash text,
        added_at double precision, delivery text)) WITH ORDINALITY
        AS added (key, operation, lane, input, input_hash, added_at, delivery, position)
      ORDER BY position ON CONFLICT (key) DO NOTHING`,
    // Others that begin at the same time wait.
    lockDeliveries: `LOCK TABLE ${deliveries} IN SHARE ROW EXCLUSIVE MODE`,
    // One pass over the unsettled entries: a subquery per entry would take quadratic time.
    claimable: `
      SELECT first.lane FROM (
        SELECT DISTINCT ON (lane) lane, sequence, state FROM ${entries} WHERE state IN ${UNSETTLED_STATES_SQL} ORDER BY lane, sequence
      ) AS first LEFT JOIN ${lanes} AS leased ON leased.lane = first.lane
      WHERE first.state <> 'unknown' AND first.lane <> ALL ($1) AND (${IS_LEASED_SQL}) IS NOT TRUE
      ORDER BY first.sequence LIMIT $2`,
    // Sorted, so that two processes do not wait for each other.
    addLanes: `INSERT INTO ${lanes} (lane) SELECT unnest($1::text[]) ORDER BY 1 ON CONFLICT DO NOTHING`,
    lockFreeLanes: `
      SELECT lane,
        extract(epoch FROM clock_timestamp() - leased_until) * 1000 AS unleased,
        extract(epoch FROM quiet_until - clock_timestamp()) * 1000 AS quiet
      FROM ${lanes} WHERE lane = ANY ($1) AND (${IS_LEASED_SQL}) IS NOT TRUE FOR UPDATE SKIP LOCKED`,
    /** The first unsettled entry of each lane, in the order added. */
    firstEntries: `
      SELECT ${SELECTED_COLUMNS_SQL} FROM unnest($1::text[]) AS wanted CROSS JOIN LATERAL (
        SELECT * FROM ${entries} WHERE lane = wanted AND state IN ${UNSETTLED_STATES_SQL} ORDER BY sequence LIMIT 1
      ) AS entry ORDER BY sequence`,
    lease: `
      UPDATE ${lanes} SET owner = $2, leased_until = clock_timestamp() + $3::double precision * interval '1 millisecond'
      WHERE lane = ANY ($1)`,
    renew: `
      UPDATE ${lanes} SET leased_until = clock_timestamp() + $3::double precision * interval '1 millisecond'
      WHERE lane = ANY ($1) AND owner = $2 AND ${IS_LEASED_SQL} RETURNING lane`,
    release: `
      UPDATE ${lanes} SET leased_until = clock_timestamp() WHERE lane = $1 AND owner = $2 AND ${IS_LEASED_SQL}`,
    lockLease: `
      SELECT FROM ${lanes} WHERE lane = (SELECT lane FROM ${entries} WHERE key = $1) AND owner = $2 AND ${IS_LEASED_SQL}
      FOR UPDATE`,
    // Sorted, so that two transactions do not wait for each other.
    lockEntries: `${selectSql} WHERE key = ANY ($1) ORDER BY sequence FOR UPDATE`,
    keepQuiet: `
      INSERT INTO ${lanes} AS lane (lane, quiet_until)
      VALUES ($1, clock_timestamp() + $2::double precision * interval '1 millisecond')
      ON CONFLICT (lane) DO UPDATE SET quiet_until = greatest(lane.quiet_until, excluded.quiet_until)`,
  };
}
