import { existsSync } from "node:fs";
import type { SqliteDatabase, SqliteStatement } from "../../../storage/sqlite/driver.js";
import { SqliteConnection, type SqliteConnectionOptions } from "../../../storage/sqlite/sqlite-connection.js";
import type { MirrorBatch } from "../../sink.js";
import { type MirrorKey, type MirrorRecord, type MirrorResource, mapResources, tableOf } from "../../tables.js";
import { encodeExtraFields } from "../row-codec.js";
import { otherMirrorError } from "../sink-errors.js";
import { STATUS_TABLE } from "../sql-objects.js";
import { keysInBatches } from "../sql-table.js";
import { createStateTable, ensureIndexes, ensureViews } from "./sqlite-schema.js";
import { SqliteTable } from "./sqlite-table.js";

const GET_STATE_SQL = "SELECT state FROM stocklot_state";

/** The statements of a copy. */
interface CopyStatements {
  readonly tables: Readonly<Record<MirrorResource, SqliteTable>>;
  readonly getState: SqliteStatement;
  readonly setState: SqliteStatement;
  readonly setStatus: SqliteStatement;
}

/** An open database with a copy. */
export class SqliteCopy {
  readonly #path: string;
  readonly #connection: SqliteConnection;
  readonly #statements: CopyStatements;
  /** Resources whose tables have their indexes. */
  readonly #indexed = new Set<MirrorResource>();

  /** Opens the database, and creates the tables of the copy. */
  static async open(options: Omit<SqliteConnectionOptions, "synchronous">): Promise<SqliteCopy> {
    // A power failure may undo the last commits, each as a whole, together with the state that it saved.
    const connection = await SqliteConnection.open({ ...options, synchronous: "NORMAL" });
    try {
      return new SqliteCopy(options.path, connection, await connection.transaction(prepareCopyStatements));
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  private constructor(path: string, connection: SqliteConnection, statements: CopyStatements) {
    this.#path = path;
    this.#connection = connection;
    this.#statements = statements;
  }

  state(): Promise<string | undefined> {
    return this.#connection.read(() => this.#readState());
  }

  keys(resource: MirrorResource): AsyncIterable<readonly MirrorKey[]> {
    const table = this.#statements.tables[resource];
    return keysInBatches(tableOf(resource), (last) => this.#connection.read(() => table.keysAfter(last)));
  }

  read(resource: MirrorResource, keys: readonly MirrorKey[]): Promise<MirrorRecord[]> {
    return this.#connection.read(() => this.#statements.tables[resource].read(keys));
  }

  /** The saved state of a copy; `undefined` if there is none. Writes nothing, and creates no file. */
  static async readState(options: Omit<SqliteConnectionOptions, "synchronous">): Promise<string | undefined> {
    if (!existsSync(options.path)) return undefined;
    const connection = await SqliteConnection.open({ ...options, synchronous: "read-only" });
    try {
      return await connection.read((database) => {
        const isCopy =
          database.prepare("SELECT name FROM sqlite_schema WHERE name = 'stocklot_state'").all().length > 0;
        const [row] = isCopy ? database.prepare(GET_STATE_SQL).all() : [];
        return row && String(row.state);
      });
    } finally {
      await connection.close();
    }
  }

  async commit({ resource, upsert, remove, previousState, state, status }: MirrorBatch): Promise<void> {
    const { tables, setState, setStatus } = this.#statements;
    const isComplete = status?.some((row) => row.resource === resource && row.complete) ?? false;
    await this.#connection.transaction((database) => {
      if (this.#readState() !== previousState) throw otherMirrorError(this.#path);
      for (const record of upsert) tables[resource].upsert(record);
      for (const key of remove) tables[resource].delete(key);
      setState.run(state);
      if (status) setStatus.run(encodeExtraFields(status));
      if (isComplete && !this.#indexed.has(resource)) ensureIndexes(database, tableOf(resource));
    });
    if (isComplete) this.#indexed.add(resource);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #readState(): string | undefined {
    const [row] = this.#statements.getState.all();
    return row && String(row.state);
  }
}

function prepareCopyStatements(database: SqliteDatabase): CopyStatements {
  createStateTable(database);
  const tables = mapResources((resource) => new SqliteTable(database, tableOf(resource)));
  ensureViews(database);
  return {
    tables,
    getState: database.prepare(GET_STATE_SQL),
    setState: database.prepare(
      "INSERT INTO stocklot_state VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
    ),
    setStatus: database.prepare(
      `INSERT INTO ${STATUS_TABLE} VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET status = excluded.status`,
    ),
  };
}
