import { type PostgresQueryable, queryRows } from "../../storage/postgres/driver.js";
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
import {
  changedColumns,
  conflictingDeliveries,
  countsOfRow,
  deliveryOfRow,
  entryOfRow,
  itemToColumn,
  SELECTED_COLUMNS_SQL,
  STATE_COUNTS_SQL,
  UNSETTLED_STATES_SQL,
} from "./entry-row.js";
import type { TableNames } from "./postgres-schema.js";

const IS_LEASED_SQL = "leased_until > clock_timestamp()";

/** Longer than any wait; an interval cannot be infinite. */
const MAX_QUIET_MS = 1e12;

const intervalOfMsSql = (parameter: string) => `${parameter} * interval '1 millisecond'`;
const msOfIntervalSql = (interval: string) => `extract(epoch FROM ${interval}) * 1000`;

/** The commands of an outbox store. The caller opens transactions. */
export class PostgresEntries {
  readonly #session: PostgresQueryable;
  readonly #names: TableNames;

  constructor(session: PostgresQueryable, names: TableNames) {
    this.#session = session;
    this.#names = names;
  }

  async claimService({ id, address }: ServiceIdentity): Promise<string> {
    const { store } = this.#names;
    await this.#rows(`UPDATE ${store} SET service = $1 WHERE service IS NULL OR service = $2`, [id, address]);
    const [row] = await this.#rows(`SELECT service FROM ${store}`, []);
    return String(row?.service);
  }

  /** Adds entries that do not exist, and returns all of these keys. */
  async insert(added: readonly NewEntry[]): Promise<StoredEntry[]> {
    const column = (name: keyof NewEntry) => added.map((entry) => entry[name]);
    await this.#rows(
      `INSERT INTO ${this.#names.entries} (key, operation, item, input, input_hash, added_at, delivery)
      SELECT key, operation, item, input, input_hash, added_at, delivery
      FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::double precision[], $7::text[])
        WITH ORDINALITY AS added (key, operation, item, input, input_hash, added_at, delivery, position)
      ORDER BY position ON CONFLICT (key) DO NOTHING`,
      [
        column("key"),
        column("operation"),
        added.map(({ item }) => itemToColumn(item)),
        column("input"),
        column("inputHash"),
        column("addedAt"),
        added.map(({ delivery }) => delivery ?? null),
      ],
    );
    return await this.find(column("key"));
  }

  async beginDelivery(delivery: NewDelivery): Promise<StoredDelivery[]> {
    const { name, file, digest, lines, begunAt } = delivery;
    const { deliveries } = this.#names;
    // Others that begin at the same time wait.
    await this.#rows(`LOCK TABLE ${deliveries} IN SHARE ROW EXCLUSIVE MODE`, []);
    const conflicts = conflictingDeliveries(delivery, await this.#deliveries([name, file, digest]));
    if (conflicts.length === 0) {
      const values = [name, file, digest, lines, begunAt];
      await this.#rows(
        `INSERT INTO ${deliveries} (name, file, digest, lines, begun_at) VALUES ($1, $2, $3, $4, $5)`,
        values,
      );
    }
    return conflicts;
  }

  async delivery(name: string): Promise<StoredDelivery | undefined> {
    const [delivery] = await this.#deliveries([name, null, null]);
    return delivery;
  }

  async #deliveries(nameFileDigest: (string | null)[]): Promise<StoredDelivery[]> {
    const { deliveries, entries } = this.#names;
    const rows = await this.#rows(
      `SELECT name, file, digest, lines, begun_at AS "begunAt", (
        SELECT json_object_agg(state, entries) FROM (
          SELECT state, count(*) AS entries FROM ${entries} WHERE delivery = name GROUP BY state) AS counted
      ) AS entries FROM ${deliveries} WHERE name = $1 OR file = $2 OR digest = $3 ORDER BY begun_at`,
      nameFileDigest,
    );
    return rows.map(deliveryOfRow);
  }

  /** The entries with these keys, in their order, without those that do not exist. */
  async find(keys: readonly unknown[]): Promise<StoredEntry[]> {
    const rows = await this.#select("WHERE key = ANY ($1)", [keys]);
    const found = new Map(rows.map((entry) => [entry.key, entry]));
    return keys.flatMap((key) => found.get(String(key)) ?? []);
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    const [entry] = await this.find([key]);
    return entry;
  }

  async list({ state, item, after, limit }: Parameters<OutboxStore["list"]>[0]): Promise<StoredEntry[]> {
    return await this.#select(
      `WHERE sequence > $1 AND input IS NOT NULL AND ($2::text IS NULL OR state = $2) AND ($3::text IS NULL OR item = $3)
      ORDER BY sequence LIMIT $4`,
      [after, state ?? null, item === undefined ? null : itemToColumn(item), limit],
    );
  }

  async count(except: readonly string[]): Promise<OutboxCounts> {
    const { entries } = this.#names;
    const [row] = await this.#rows(
      `WITH counted AS (
        SELECT state, count(*) AS entries FROM ${entries} WHERE item <> ALL ($1) GROUP BY state
      ), blocked AS (
        SELECT item, min(sequence) AS sequence FROM ${entries} WHERE state = 'unknown' AND item <> ALL ($1) GROUP BY item
      )
      SELECT ${STATE_COUNTS_SQL},
        (SELECT min(added_at) FROM ${entries} WHERE state IN ${UNSETTLED_STATES_SQL}) AS "oldestUnsettledAt",
        (SELECT count(*) FROM blocked JOIN ${entries} AS entry ON entry.item = blocked.item
          AND entry.sequence > blocked.sequence AND entry.state = 'pending') AS "heldBack"`,
      [except.map(itemToColumn)],
    );
    return countsOfRow(row);
  }

  /**
   * Up to `limit` items that can be claimed, as columns store them. Another process may claim them first. One pass over the unsettled entries: a
   * subquery per entry would take quadratic time.
   */
  async claimable(limit: number, except: readonly string[]): Promise<string[]> {
    const { entries, items } = this.#names;
    const rows = await this.#rows(
      `SELECT first.item FROM (
        SELECT DISTINCT ON (item) item, sequence, state FROM ${entries} WHERE state IN ${UNSETTLED_STATES_SQL} ORDER BY item, sequence
      ) AS first LEFT JOIN ${items} AS leased ON leased.item = first.item
      WHERE first.state <> 'unknown' AND first.item <> ALL ($1) AND (${IS_LEASED_SQL}) IS NOT TRUE
      ORDER BY first.sequence LIMIT $2`,
      [except, limit],
    );
    return rows.map(({ item }) => String(item));
  }

  /** Leases those items that are free, and locks them. */
  async lease(columns: readonly string[], owner: string, leaseMs: number): Promise<ClaimedItem[]> {
    const { items } = this.#names;
    // Sorted, so that two processes do not wait for each other.
    await this.#rows(`INSERT INTO ${items} (item) SELECT unnest($1::text[]) ORDER BY 1 ON CONFLICT DO NOTHING`, [
      columns,
    ]);
    const free = await this.#rows(
      `SELECT item, ${msOfIntervalSql("clock_timestamp() - leased_until")} AS unleased, ${msOfIntervalSql("quiet_until - clock_timestamp()")} AS quiet
      FROM ${items} WHERE item = ANY ($1) AND (${IS_LEASED_SQL}) IS NOT TRUE FOR UPDATE SKIP LOCKED`,
      [columns],
    );
    const times = new Map(free.map((row) => [row.item, row]));
    // Read again: these entries may have changed before their items were locked.
    const claimed: ClaimedItem[] = [];
    for (const entry of await this.#firstEntries(free.map(({ item }) => item))) {
      const { unleased = null, quiet = null } = times.get(itemToColumn(entry.item)) ?? {};
      const unleasedMs = unleased === null ? undefined : Number(unleased);
      claimed.push({ item: entry.item, entry, unleasedMs, quietMs: Math.max(0, Number(quiet)) });
    }
    await this.#rows(
      `UPDATE ${items} SET owner = $2, leased_until = clock_timestamp() + ${intervalOfMsSql("$3::double precision")}
      WHERE item = ANY ($1)`,
      [claimed.map(({ item }) => itemToColumn(item)), owner, leaseMs],
    );
    return claimed;
  }

  async renew(items: readonly string[], owner: string, leaseMs: number): Promise<string[]> {
    const rows = await this.#rows(
      `UPDATE ${this.#names.items} SET leased_until = clock_timestamp() + ${intervalOfMsSql("$3::double precision")}
      WHERE item = ANY ($1) AND owner = $2 AND ${IS_LEASED_SQL} RETURNING item`,
      [items.map(itemToColumn), owner, leaseMs],
    );
    const renewed = new Set(rows.map(({ item }) => item));
    return items.filter((item) => renewed.has(itemToColumn(item)));
  }

  async release(item: string, owner: string): Promise<void> {
    await this.#rows(
      `UPDATE ${this.#names.items} SET leased_until = clock_timestamp() WHERE item = $1 AND owner = $2 AND ${IS_LEASED_SQL}`,
      [itemToColumn(item), owner],
    );
  }

  async next(item: string): Promise<StoredEntry | undefined> {
    const [entry] = await this.#select(
      `WHERE item = $1 AND state IN ${UNSETTLED_STATES_SQL} ORDER BY sequence LIMIT 1`,
      [itemToColumn(item)],
    );
    return entry?.state === "unknown" ? undefined : entry;
  }

  /** Whether the owner has the lease of the entry's item, which then stays locked. */
  async lockLease(key: string, owner: string): Promise<boolean> {
    const { entries, items } = this.#names;
    const rows = await this.#rows(
      `SELECT FROM ${items} WHERE item = (SELECT item FROM ${entries} WHERE key = $1) AND owner = $2 AND ${IS_LEASED_SQL}
      FOR UPDATE`,
      [key, owner],
    );
    return rows.length > 0;
  }

  /** The changed entry; `undefined` if it does not meet the condition. */
  async change(
    key: string,
    { state, attempts }: Pick<EntryCondition, "state" | "attempts">,
    change: EntryChange,
  ): Promise<StoredEntry | undefined> {
    const columns = changedColumns(change);
    const assignments = columns.map(({ column }, index) => `${column} = $${index + 4}`);
    const [row] = await this.#rows(
      `UPDATE ${this.#names.entries} AS entry SET ${["key = key", ...assignments]}
      WHERE key = $1 AND attempts = $2 AND state = ANY ($3) RETURNING ${SELECTED_COLUMNS_SQL}`,
      [key, attempts, state, ...columns.map(({ value }) => value)],
    );
    return row && entryOfRow(row);
  }

  /** An earlier wish that lasts longer takes precedence. */
  async keepQuiet(item: string, quietMs: number): Promise<void> {
    await this.#rows(
      `INSERT INTO ${this.#names.items} AS item (item, quiet_until)
      VALUES ($1, clock_timestamp() + ${intervalOfMsSql("$2::double precision")})
      ON CONFLICT (item) DO UPDATE SET quiet_until = greatest(item.quiet_until, excluded.quiet_until)`,
      [itemToColumn(item), Math.min(quietMs, MAX_QUIET_MS)],
    );
  }

  async prune(settledBefore: number): Promise<number> {
    const rows = await this.#rows(
      `UPDATE ${this.#names.entries} SET input = NULL, body = NULL, result = NULL, error = NULL
      WHERE state NOT IN ${UNSETTLED_STATES_SQL} AND settled_at < $1 AND input IS NOT NULL RETURNING 1`,
      [settledBefore],
    );
    return rows.length;
  }

  /** The first unsettled entry of each item, if it can be sent, in the order added. */
  async #firstEntries(columns: readonly unknown[]): Promise<StoredEntry[]> {
    const rows = await this.#rows(
      `SELECT ${SELECTED_COLUMNS_SQL} FROM unnest($1::text[]) AS wanted CROSS JOIN LATERAL (
        SELECT * FROM ${this.#names.entries} WHERE item = wanted AND state IN ${UNSETTLED_STATES_SQL} ORDER BY sequence LIMIT 1
      ) AS entry ORDER BY sequence`,
      [columns],
    );
    return rows.map(entryOfRow).filter(({ state }) => state !== "unknown");
  }

  async #select(rest: string, values: unknown[]): Promise<StoredEntry[]> {
    const rows = await this.#rows(
      `SELECT ${SELECTED_COLUMNS_SQL} FROM ${this.#names.entries} AS entry ${rest}`,
      values,
    );
    return rows.map(entryOfRow);
  }

  #rows(text: string, values: unknown[]) {
    return queryRows(this.#session, text, values);
  }
}
