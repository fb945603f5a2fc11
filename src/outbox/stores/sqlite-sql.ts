import { SELECTED_COLUMNS_SQL, STATE_COUNTS_SQL, setProgressSql, UNSETTLED_STATES_SQL } from "./entry-row.js";
import type { StoreCommand } from "./postgres-sql.js";

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

const SELECT_SQL = `SELECT ${SELECTED_COLUMNS_SQL} FROM stocklot_outbox_entries AS entry`;
const LIST_SQL = `${SELECT_SQL} WHERE sequence > ?1 AND (?2 IS NULL OR state = ?2)`;

/** The members of an array, which is bound as JSON. */
const membersOf = (array: string) => `(SELECT value FROM json_each(${array}))`;

/** The commands of an outbox store. A transaction locks all others out, so nothing else needs a lock. */
export const STATEMENTS: Readonly<Record<StoreCommand, string>> = {
  store: "SELECT id, version, service FROM stocklot_outbox_store",
  createStore: `
    INSERT INTO stocklot_outbox_store (only, id, version) VALUES (1, ?, ?)
    ON CONFLICT (only) DO UPDATE SET version = excluded.version`,
  claimService: "UPDATE stocklot_outbox_store SET service = ?1 WHERE service IS NULL OR service = ?2",

  beginAdd: "SAVEPOINT stocklot_outbox_add",
  insert: `
    INSERT INTO stocklot_outbox_entries (key, operation, lane, input, input_hash, added_at, delivery)
    SELECT value ->> 'key', value ->> 'operation', value ->> 'lane', value ->> 'input', value ->> 'input_hash',
      value ->> 'added_at', value ->> 'delivery'
    FROM json_each(?) WHERE true ORDER BY key ON CONFLICT (key) DO NOTHING`,
  undoAdd: "ROLLBACK TO SAVEPOINT stocklot_outbox_add",
  lockDeliveries: "SELECT 1",
  recordDelivery: `
    INSERT INTO stocklot_outbox_deliveries (name, file, digest, lines, begun_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET file = excluded.file, digest = excluded.digest, lines = excluded.lines`,
  deliveries: `
    SELECT name, file, digest, lines, begun_at AS "begunAt", (
      SELECT json_group_object(state, entries) FROM (
        SELECT state, count(*) AS entries FROM stocklot_outbox_entries WHERE delivery = name GROUP BY state)
    ) AS entries
    FROM stocklot_outbox_deliveries
    WHERE name = ?1 OR file = ?2 OR digest = ?3 OR coalesce(?1, ?2, ?3) IS NULL ORDER BY begun_at, name`,

  get: `${SELECT_SQL} WHERE key IN ${membersOf("?")}`,
  list: `${LIST_SQL} AND input IS NOT NULL ORDER BY sequence LIMIT ?3`,
  listOfLane: `${LIST_SQL} AND input IS NOT NULL AND lane = ?4 ORDER BY sequence LIMIT ?3`,
  listOfDelivery: `${LIST_SQL} AND (?4 IS NULL OR lane = ?4) AND delivery = ?5 ORDER BY sequence LIMIT ?3`,
  next: `${SELECT_SQL} WHERE lane = ? AND state IN ${UNSETTLED_STATES_SQL} ORDER BY sequence LIMIT 1`,
  count: `
    WITH counted AS (
      SELECT state, count(*) AS entries FROM stocklot_outbox_entries
      WHERE lane NOT IN ${membersOf("?1")} GROUP BY state
    ), blocked AS (
      SELECT lane, min(sequence) AS sequence FROM stocklot_outbox_entries
      WHERE state = 'unknown' AND lane NOT IN ${membersOf("?1")} GROUP BY lane
    )
    SELECT ${STATE_COUNTS_SQL},
      (SELECT min(added_at) FROM stocklot_outbox_entries WHERE state IN ${UNSETTLED_STATES_SQL}) AS "oldestUnsettledAt",
      (SELECT count(*) FROM blocked JOIN stocklot_outbox_entries AS entry
        ON entry.lane = blocked.lane AND entry.sequence > blocked.sequence
        AND entry.state = 'pending') AS "heldBack"`,
  prune: `
    UPDATE stocklot_outbox_entries SET input = NULL, body = NULL, result = NULL, error = NULL
    WHERE state NOT IN ${UNSETTLED_STATES_SQL} AND settled_at < ? AND input IS NOT NULL RETURNING 1`,

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
  change: `
    UPDATE stocklot_outbox_entries AS entry SET ${setProgressSql((number) => `?${number}`)} WHERE key = ?1
    RETURNING ${SELECTED_COLUMNS_SQL}`,
  cancel: `UPDATE stocklot_outbox_entries SET state = 'canceled', settled_at = ?2, error = coalesce(?3, error) WHERE key IN ${membersOf("?1")}`,
  // An earlier wish that lasts longer takes precedence.
  keepQuiet: `
    INSERT INTO stocklot_outbox_lanes (lane, quiet_until, quiet_ms) VALUES (?1, ${NOW} + ?2, ?2)
    ON CONFLICT (lane) DO UPDATE SET
      quiet_until = ${NOW} + max(?2, coalesce(${QUIET_SQL}, 0)), quiet_ms = max(?2, coalesce(${QUIET_SQL}, 0))`,
};
