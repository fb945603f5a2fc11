import { ConfigurationError } from "../../shared/errors/index.js";
import { abortableBy, type SqlDatabase, type SqlQuery, type SqlRow, type SqlValue } from "../../storage/database.js";
import type { Dialect } from "../../storage/dialect.js";
import { ineffectiveCommand } from "../../storage/storage-failure.js";
import { updateRows } from "../../storage/update-rows.js";
import type { MirrorResource } from "../tables.js";
import { COPY_COLUMNS, COPY_FORMAT, createCopySql, indexesOf, RELATIONS, type Statement } from "./sql.js";

export interface CopyDatabase {
  readonly dialect: Dialect;
  /** Runs one command, in a transaction of its own. */
  query(sql: string, values?: readonly SqlValue[]): Promise<SqlRow[]>;
  /**
   * Runs statements in one transaction, and increases the version of the copy by 1.
   *
   * @param version The version that the copy must have.
   * @throws ConfigurationError if the copy has another version, because another mirror writes to it. Nothing is
   * changed.
   */
  commit(version: number, statements: readonly Statement[]): Promise<void>;
  createIndexes(resource: MirrorResource): Promise<void>;
  close(): Promise<void>;
}

/** Creating an index of a large table may take this long, in ms. */
const INDEX_TIMEOUT_MS = 30 * 60_000;

/** @param location Named in errors. */
function copyDatabase(database: SqlDatabase, dialect: Dialect, location: string): CopyDatabase {
  const copy = dialect.nameOf("stocklot_mirror");
  return {
    dialect,
    query: (sql, values) => database.transaction((query) => query(sql, values), { reads: true }),
    commit: (version, statements) =>
      database.transaction(async (query) => {
        // The lock of this row also serialises commits, so that readers see changes in the order of their numbers.
        const updated = await updateRows(database, query, {
          table: copy,
          set: { version: version + 1 },
          where: (bind) => `version = ${bind(version)}`,
        });
        if (updated.length === 0) throw otherMirrorError(location);
        for (const statement of statements) await execute(database, query, statement);
      }),
    createIndexes: (resource) =>
      database.transaction(
        async (query) => {
          const indexes = indexesOf(resource, dialect);
          const found = new Set(dialect.kind === "postgres" ? await namesOfIndexes(query, dialect) : []);
          // Only the owner of a table may run CREATE INDEX, even if the index exists.
          for (const { name, sql } of indexes) if (!found.has(name)) await query(sql);
        },
        { timeoutMs: INDEX_TIMEOUT_MS },
      ),
    close: () => database.close(),
  };
}

/** Runs a statement. Throws a `StorageError` if the statement had no effect on some of its rows. */
async function execute(
  database: SqlDatabase,
  query: SqlQuery,
  { sql, unapplied, rows, columns }: Statement,
): Promise<void> {
  const asJson = () =>
    JSON.stringify(rows.map((row) => Object.fromEntries(columns?.map((name, index) => [name, row[index]]) ?? [])));
  const isAtOnce = database.kind === "postgres" && columns !== undefined && rows.length > 0;
  for (const values of isAtOnce ? [[asJson()]] : rows) {
    await query(sql, values);
    if ((await query(unapplied, values)).length === 0) continue;
    const [, command = "", table = ""] = /^(INSERT|UPDATE|DELETE)(?: INTO| FROM)? (\S+)/.exec(sql) ?? [];
    throw ineffectiveCommand(database, command, table);
  }
}

async function namesOfIndexes(query: SqlQuery, { nameOf }: Dialect): Promise<string[]> {
  const sql = `SELECT relname FROM pg_class WHERE relkind = 'i' AND relnamespace =
  (SELECT relnamespace FROM pg_class WHERE oid = to_regclass($1))`;
  return (await query(sql, [nameOf("stocklot_mirror")])).map(({ relname }) => String(relname));
}

const otherMirrorError = (location: string) =>
  new ConfigurationError(
    `mirror: another mirror writes to the copy in ${location}. This run has ended. Only one mirror may write to a copy.`,
  );

const NEW_COPY_ADVICE = "Use a new copy: another file or schema, or drop the tables.";

/** Where a copy is. `found`: the names of the tables and views that exist there. */
export interface CopyPlace {
  dialect: Dialect;
  location: string;
  found: ReadonlySet<string>;
}

/**
 * Opens the copy in a database. If there is no copy, `write` creates one, and `read` returns `undefined`. The signal
 * ends every wait for the database.
 *
 * @throws ConfigurationError if there are tables of another version, or tables that stocklot has not created.
 */
export function openCopyDatabase(
  database: SqlDatabase,
  use: "write",
  findPlace: (query: SqlQuery) => Promise<CopyPlace>,
  signal?: AbortSignal,
): Promise<CopyDatabase>;
export function openCopyDatabase(
  database: SqlDatabase,
  use: "read",
  findPlace: (query: SqlQuery) => Promise<CopyPlace>,
): Promise<CopyDatabase | undefined>;
export async function openCopyDatabase(
  given: SqlDatabase,
  use: "read" | "write",
  findPlace: (query: SqlQuery) => Promise<CopyPlace>,
  signal?: AbortSignal,
): Promise<CopyDatabase | undefined> {
  const database = signal ? abortableBy(given, signal) : given;
  try {
    const open = async (query: SqlQuery) => {
      const found = await findPlace(query);
      if (await isCopy(query, found)) return found;
      if (use === "write") await createCopy(query, found);
      return use === "write" ? found : undefined;
    };
    const place = await database.transaction(open, { reads: use === "read" });
    if (place) return copyDatabase(database, place.dialect, place.location);
  } catch (error) {
    await database.close();
    throw error;
  }
  await database.close();
  return undefined;
}

async function createCopy(query: SqlQuery, { dialect, location, found }: CopyPlace): Promise<void> {
  const taken = RELATIONS.find((name) => found.has(name));
  if (taken !== undefined)
    throw new ConfigurationError(
      `mirror: ${location} has a table or view "${taken}" that this version of stocklot has not created. ${NEW_COPY_ADVICE}`,
    );
  for (const sql of createCopySql(dialect)) await query(sql);
}

async function isCopy(query: SqlQuery, { dialect, location, found }: CopyPlace): Promise<boolean> {
  if (!found.has("stocklot_mirror")) {
    if (!found.has("stocklot_state")) return false;
    throw otherVersionError(location);
  }
  const [row] = await query(`SELECT * FROM ${dialect.nameOf("stocklot_mirror")}`);
  if (Number(row?.format) === COPY_FORMAT) return true;
  throw otherVersionError(location);
}

const otherVersionError = (location: string) =>
  new ConfigurationError(
    `mirror: the copy in ${location} was written by another version of stocklot. ${NEW_COPY_ADVICE}`,
  );

export interface CopyRow {
  version: number;
  /** The account whose records these are; `null` before the first run. */
  account: { id: string; address: string; clientId: string } | null;
  /** How long changes are kept, in days; `null` if they are not recorded. */
  historyDays: number | null;
  seq: number;
  expired: number;
}

/**
 * Reads the row of the copy. With `lock`, first waits for the end of a commit that a killed process may have left
 * unfinished.
 */
export async function readCopyRow(database: CopyDatabase, lock: "" | "FOR SHARE" = ""): Promise<CopyRow> {
  const { kind, nameOf } = database.dialect;
  const names = Object.keys(COPY_COLUMNS).join(", ");
  const [row = {}] = await database.query(
    `SELECT ${names} FROM ${nameOf("stocklot_mirror")} ${kind === "postgres" ? lock : ""}`,
  );
  const { service, address, client_id: clientId } = row;
  return {
    version: Number(row.version),
    account: service == null ? null : { id: String(service), address: String(address), clientId: String(clientId) },
    historyDays: row.history_days == null ? null : Number(row.history_days),
    seq: Number(row.seq),
    expired: Number(row.expired),
  };
}
