import { SELECTED_COLUMNS_SQL, STATE_COUNTS_SQL, UNSETTLED_STATES_SQL } from "./entry-row.js";

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

/** The lane has a lease that has not ended. A lease that seems to last longer than it can was taken before the machine restarted. */
const IS_LEASED_SQL = "(leased_until > ?1 AND leased_until <= ?1 + lease_ms)";

export const STATEMENTS = {
  store: "SELECT id, version, service FROM stocklot_outbox_store",
  createStore: `
    INSERT INTO stocklot_outbox_store (only, id, version) VALUES (1, ?, ?)
    ON CONFLICT (only) DO UPDATE SET version = excluded.version`,
  claimService: "UPDATE stocklot_outbox_store SET service = ?1 WHERE service IS NULL OR service = ?2",

  insert: `
    INSERT INTO stocklot_outbox_entries (key, operation, lane, input, input_hash, added_at, delivery)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
  addDelivery: "INSERT INTO stocklot_outbox_deliveries (name, file, digest, lines, begun_at) VALUES (?, ?, ?, ?, ?)",
  deliveries: `
    SELECT name, file, digest, lines, begun_at AS "begunAt", (
      SELECT json_group_object(state, entries) FROM (
        SELECT state, count(*) AS entries FROM stocklot_outbox_entries WHERE delivery = name GROUP BY state)
    ) AS entries
    FROM stocklot_outbox_deliveries WHERE name = ?1 OR file = ?2 OR digest = ?3 ORDER BY begun_at`,

  get: `SELECT ${SELECTED_COLUMNS_SQL} FROM stocklot_outbox_entries AS entry WHERE key = ?`,
  list: `
    SELECT ${SELECTED_COLUMNS_SQL} FROM stocklot_outbox_entries AS entry
    WHERE sequence > ?1 AND input IS NOT NULL AND (?2 IS NULL OR state = ?2) ORDER BY sequence LIMIT ?3`,
  // One statement for both would not use the index of lanes.
  listOfLane: `
    SELECT ${SELECTED_COLUMNS_SQL} FROM stocklot_outbox_entries AS entry
    WHERE sequence > ?1 AND input IS NOT NULL AND (?2 IS NULL OR state = ?2) AND lane = ?4 ORDER BY sequence LIMIT ?3`,
  next: `
    SELECT ${SELECTED_COLUMNS_SQL} FROM stocklot_outbox_entries AS entry
    WHERE lane = ? AND state IN ${UNSETTLED_STATES_SQL} ORDER BY sequence LIMIT 1`,
  count: `
    WITH counted AS (
      SELECT state, count(*) AS entries FROM stocklot_outbox_entries
      WHERE lane NOT IN (SELECT value FROM json_each(?1)) GROUP BY state
    ), blocked AS (
      SELECT lane, min(sequence) AS sequence FROM stocklot_outbox_entries
      WHERE state = 'unknown' AND lane NOT IN (SELECT value FROM json_each(?1)) GROUP BY lane
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
    SELECT ${SELECTED_COLUMNS_SQL}, leased_until, lease_ms, quiet_until, quiet_ms
    FROM stocklot_outbox_entries AS entry LEFT JOIN stocklot_outbox_lanes AS leased ON leased.lane = entry.lane
    WHERE state IN ('pending', 'sending')
      AND NOT EXISTS (
        SELECT 1 FROM stocklot_outbox_entries AS earlier
        WHERE earlier.lane = entry.lane AND earlier.sequence < entry.sequence
          AND earlier.state IN ${UNSETTLED_STATES_SQL})
      AND entry.lane NOT IN (SELECT value FROM json_each(?2))
      AND ${IS_LEASED_SQL} IS NOT TRUE
    ORDER BY sequence LIMIT ?3`,
  lease: `
    INSERT INTO stocklot_outbox_lanes (lane, owner, leased_until, lease_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (lane) DO UPDATE SET owner = ?2, leased_until = ?3, lease_ms = ?4`,
  isHeld: `SELECT 1 FROM stocklot_outbox_lanes WHERE ${IS_LEASED_SQL} AND lane = ?2 AND owner = ?3`,
  quiet: "SELECT quiet_until, quiet_ms FROM stocklot_outbox_lanes WHERE lane = ?",
  keepQuiet: `
    INSERT INTO stocklot_outbox_lanes (lane, quiet_until, quiet_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (lane) DO UPDATE SET quiet_until = ?2, quiet_ms = ?3`,
};
