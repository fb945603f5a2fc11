import { selectEntriesSql, UNSETTLED_STATES_SQL } from "./entry-row.js";
import { type OwnCommand, type SqlDialect, type StoreCommand, sharedCommands } from "./shared-sql.js";

/** Of the whole store: its id, and the version of its tables. */
export const CREATE_STORE_TABLE_SQL = `
CREATE TABLE IF NOT EXISTS stocklot_outbox_store (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  id TEXT NOT NULL,
  service TEXT,
  version INTEGER NOT NULL
)`;

/** Step by step, from version to version. A step that was released must not be changed. */
export const SCHEMA_STEPS = [
  `
CREATE TABLE stocklot_outbox_entries (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  operation TEXT NOT NULL,
  lane TEXT NOT NULL,
  input TEXT,
  input_hash TEXT NOT NULL,
  added_at REAL NOT NULL,
  delivery TEXT,
  state TEXT NOT NULL DEFAULT 'pending',
  attempts INTEGER NOT NULL DEFAULT 0,
  body TEXT,
  sent_at REAL,
  clock_ahead_ms REAL,
  settled_at REAL,
  result TEXT,
  error TEXT
);
CREATE INDEX stocklot_outbox_by_lane ON stocklot_outbox_entries (lane, sequence);
CREATE INDEX stocklot_outbox_counted ON stocklot_outbox_entries (state, lane);
CREATE INDEX stocklot_outbox_to_send ON stocklot_outbox_entries (sequence)
  WHERE state IN ('pending', 'sending');
CREATE INDEX stocklot_outbox_unsettled ON stocklot_outbox_entries (lane, sequence)
  WHERE state IN ('pending', 'sending', 'unknown');
CREATE INDEX stocklot_outbox_of_delivery ON stocklot_outbox_entries (delivery, state) WHERE delivery IS NOT NULL;
CREATE TABLE stocklot_outbox_deliveries (
  name TEXT PRIMARY KEY,
  file TEXT NOT NULL,
  digest TEXT NOT NULL,
  lines INTEGER NOT NULL,
  begun_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE stocklot_outbox_lanes (
  lane TEXT PRIMARY KEY,
  owner TEXT,
  leased_until INTEGER,
  lease_ms INTEGER,
  quiet_until INTEGER,
  quiet_ms INTEGER
) WITHOUT ROWID`,
];

/** The SQL function that returns the time by which leases are measured, in ms. */
export const CLOCK_FUNCTION = "stocklot_clock_ms";
const NOW = `${CLOCK_FUNCTION}()`;

/** The lane has a lease that has not ended. A lease that seems to last longer than it can was taken before the machine restarted. */
const IS_LEASED_SQL = `(leased_until > ${NOW} AND leased_until <= ${NOW} + lease_ms)`;

/** How long nothing may be sent, in ms. After a restart of the machine, the whole time again. */
const QUIET_SQL = `max(0, min(quiet_until - ${NOW}, quiet_ms))`;

const SELECT_SQL = selectEntriesSql("stocklot_outbox_entries");

/** The members of an array, which is bound as JSON. */
const membersOf = (array: string) => `(SELECT value FROM json_each(${array}))`;

const DIALECT: SqlDialect = {
  names: {
    store: "stocklot_outbox_store",
    entries: "stocklot_outbox_entries",
    lanes: "stocklot_outbox_lanes",
    deliveries: "stocklot_outbox_deliveries",
  },
  value: (number) => `?${number}`,
  optionalText: (number) => `?${number}`,
  isOneOf: (column, number) => `${column} IN ${membersOf(`?${number}`)}`,
  isNoneOf: (column, number) => `${column} NOT IN ${membersOf(`?${number}`)}`,
  jsonObject: "json_group_object",
};

/** A transaction locks all others out, so nothing else needs a lock. */
const OWN_COMMANDS: Readonly<Record<OwnCommand, string>> = {
  createStore: `
    INSERT INTO stocklot_outbox_store (only, id, version) VALUES (1, ?, ?)
    ON CONFLICT (only) DO UPDATE SET version = excluded.version`,
  insert: `
    INSERT INTO stocklot_outbox_entries (key, operation, lane, input, input_hash, added_at, delivery)
    SELECT value ->> 'key', value ->> 'operation', value ->> 'lane', value ->> 'input', value ->> 'input_hash',
      value ->> 'added_at', value ->> 'delivery'
    FROM json_each(?) WHERE true ORDER BY json_each.key ON CONFLICT (key) DO NOTHING`,
  lockDeliveries: "SELECT 1",
  claimable: `
    SELECT entry.lane AS lane
    FROM stocklot_outbox_entries AS entry LEFT JOIN stocklot_outbox_lanes AS leased ON leased.lane = entry.lane
    WHERE state IN ('pending', 'sending')
      AND NOT EXISTS (
        SELECT 1 FROM stocklot_outbox_entries AS earlier
        WHERE earlier.lane = entry.lane AND earlier.sequence < entry.sequence
          AND earlier.state IN ${UNSETTLED_STATES_SQL})
      AND entry.lane NOT IN ${membersOf("?1")}
      AND ${IS_LEASED_SQL} IS NOT TRUE
    ORDER BY sequence LIMIT ?2`,
  addLanes: `INSERT INTO stocklot_outbox_lanes (lane) SELECT value FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
  // Without a time if the clock has started again since the lease was taken.
  lockFreeLanes: `
    SELECT lane, CASE WHEN leased_until <= ${NOW} THEN ${NOW} - leased_until END AS unleased, ${QUIET_SQL} AS quiet
    FROM stocklot_outbox_lanes WHERE lane IN ${membersOf("?")} AND ${IS_LEASED_SQL} IS NOT TRUE`,
  firstEntries: `
    ${SELECT_SQL} WHERE sequence IN (
      SELECT (SELECT sequence FROM stocklot_outbox_entries
        WHERE lane = wanted.value AND state IN ${UNSETTLED_STATES_SQL} ORDER BY sequence LIMIT 1)
      FROM json_each(?) AS wanted) ORDER BY sequence`,
  lease: `
    UPDATE stocklot_outbox_lanes SET owner = ?2, leased_until = ${NOW} + ?3, lease_ms = ?3
    WHERE lane IN ${membersOf("?1")}`,
  renew: `
    UPDATE stocklot_outbox_lanes SET leased_until = ${NOW} + ?3, lease_ms = ?3
    WHERE lane IN ${membersOf("?1")} AND owner = ?2 AND ${IS_LEASED_SQL} RETURNING lane`,
  release: `
    UPDATE stocklot_outbox_lanes SET leased_until = ${NOW}, lease_ms = 0
    WHERE lane = ?1 AND owner = ?2 AND ${IS_LEASED_SQL}`,
  lockLease: `
    SELECT 1 FROM stocklot_outbox_lanes
    WHERE lane = (SELECT lane FROM stocklot_outbox_entries WHERE key = ?1) AND owner = ?2 AND ${IS_LEASED_SQL}`,
  lockEntries: `${SELECT_SQL} WHERE key IN ${membersOf("?")}`,
  // An earlier wish that lasts longer takes precedence.
  keepQuiet: `
    INSERT INTO stocklot_outbox_lanes (lane, quiet_until, quiet_ms) VALUES (?1, ${NOW} + ?2, ?2)
    ON CONFLICT (lane) DO UPDATE SET
      quiet_until = ${NOW} + max(?2, coalesce(${QUIET_SQL}, 0)), quiet_ms = max(?2, coalesce(${QUIET_SQL}, 0))`,
};

/** The commands of an outbox store. */
export const STATEMENTS: Readonly<Record<StoreCommand, string>> = { ...sharedCommands(DIALECT), ...OWN_COMMANDS };
