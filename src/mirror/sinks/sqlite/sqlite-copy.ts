import type { SqliteDatabase, SqliteStatement } from "../../../storage/sqlite/driver.js";
import { SqliteConnection, type SqliteConnectionOptions } from "../../../storage/sqlite/sqlite-connection.js";
import type { MirrorBatch } from "../../sink.js";
import { type MirrorRecord, type MirrorResource, mapResources, tableOf } from "../../tables.js";
import { otherMirrorError } from "../sink-errors.js";
import { keysInBatches } from "../sql-table.js";
import { SqliteTable } from "./sqlite-table.js";

/** A table with one row: the saved state. */
const CREATE_STATE =
  "CREATE TABLE IF NOT EXISTS stocklot_state (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL)";

/** The statements of a copy. */
interface Statements {
  readonly tables: Readonly<Record<MirrorResource, SqliteTable>>;
  readonly getState: SqliteStatement;
  readonly setState: SqliteStatement;
}

/** An open database with a copy. */
export class SqliteCopy {
  readonly #path: string;
  readonly #connection: SqliteConnection;
  readonly #statements: Statements;

  /** Opens the database, and creates or upgrades the tables of the copy. */
  static async open(options: Omit<SqliteConnectionOptions, "synchronous">): Promise<SqliteCopy> {
    // A power failure may undo the last commits, each as a whole, together with the state that it saved.
    const connection = await SqliteConnection.open({ ...options, synchronous: "NORMAL" });
    try {
      return new SqliteCopy(options.path, connection, await connection.transaction(prepare));
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  private constructor(path: string, connection: SqliteConnection, statements: Statements) {
    this.#path = path;
    this.#connection = connection;
    this.#statements = statements;
  }

  state(): Promise<string | undefined> {
    return this.#connection.read(() => this.#readState());
  }

  keys(resource: MirrorResource): AsyncIterable<readonly number[]> {
    const table = this.#statements.tables[resource];
    return keysInBatches((last) => this.#connection.read(() => table.keysAfter(last)));
  }

  read(resource: MirrorResource, keys: readonly number[]): Promise<MirrorRecord[]> {
    return this.#connection.read(() => this.#statements.tables[resource].read(keys));
  }

  commit({ resource, upsert, remove, previousState, state }: MirrorBatch): Promise<void> {
    const { tables, setState } = this.#statements;
    return this.#connection.transaction(() => {
      if (this.#readState() !== previousState) throw otherMirrorError(this.#path);
      for (const record of upsert) tables[resource].upsert(record);
      for (const key of remove) tables[resource].delete(key);
      setState.run(state);
    });
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #readState(): string | undefined {
    const [row] = this.#statements.getState.all();
    return row && String(row.state);
  }
}

function prepare(database: SqliteDatabase): Statements {
  database.exec(CREATE_STATE);
  return {
    tables: mapResources((resource) => new SqliteTable(database, tableOf(resource))),
    getState: database.prepare("SELECT state FROM stocklot_state"),
    setState: database.prepare(
      "INSERT INTO stocklot_state VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
    ),
  };
}
