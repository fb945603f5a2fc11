import type { SqliteDatabase, SqliteDriver, SqliteStatement } from "../../../storage/sqlite/driver.js";
import { configure, inTransaction } from "../../../storage/sqlite/transaction.js";
import type { MirrorBatch } from "../../sink.js";
import { type MirrorResource, mapResources, tableOf } from "../../tables.js";
import { otherMirrorError } from "../sink-errors.js";
import { SqliteTable } from "./sqlite-table.js";

/** A table with one row: the saved state. */
const CREATE_STATE =
  "CREATE TABLE IF NOT EXISTS stocklot_state (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL)";

/** An open database with a copy. */
export class SqliteCopy {
  readonly tables: Readonly<Record<MirrorResource, SqliteTable>>;
  readonly #path: string;
  readonly #database: SqliteDatabase;
  readonly #getState: SqliteStatement;
  readonly #setState: SqliteStatement;

  constructor({ DatabaseSync }: SqliteDriver, path: string) {
    this.#path = path;
    const database = new DatabaseSync(path);
    this.#database = database;
    try {
      configure(database);
      this.tables = inTransaction(database, () => {
        database.exec(CREATE_STATE);
        return mapResources((resource) => new SqliteTable(database, tableOf(resource)));
      });
      this.#getState = database.prepare("SELECT state FROM stocklot_state");
      this.#setState = database.prepare(
        "INSERT INTO stocklot_state VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
      );
    } catch (error) {
      database.close();
      throw error;
    }
  }

  get state(): string | undefined {
    const [row] = this.#getState.all();
    return row && String(row.state);
  }

  commit({ resource, upsert, remove, previousState, state }: MirrorBatch): void {
    const table = this.tables[resource];
    inTransaction(this.#database, () => {
      if (this.state !== previousState) throw otherMirrorError(this.#path);
      for (const record of upsert) table.upsert(record);
      for (const key of remove) table.delete(key);
      this.#setState.run(state);
    });
  }

  close(): void {
    this.#database.close();
  }
}
