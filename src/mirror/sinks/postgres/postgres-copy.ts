import type { MirrorBatch } from "../../sink.js";
import { type MirrorResource, TABLES } from "../../tables.js";
import { KEYS_AT_ONCE } from "../key-batch.js";
import { otherMirror } from "../other-mirror.js";
import type { PostgresQueryable } from "./connection.js";
import { savedState } from "./postgres-schema.js";
import { PostgresTable } from "./postgres-table.js";

/** A copy whose tables are there. */
export class PostgresCopy {
  readonly tables: Readonly<Record<MirrorResource, PostgresTable>>;
  readonly #connection: PostgresQueryable;
  readonly #schema: string;

  constructor(connection: PostgresQueryable, schema: string) {
    this.#connection = connection;
    this.#schema = schema;
    this.tables = {
      items: new PostgresTable(connection, schema, TABLES.items),
      lots: new PostgresTable(connection, schema, TABLES.lots),
      stockLevels: new PostgresTable(connection, schema, TABLES.stockLevels),
    };
  }

  state(): Promise<string | undefined> {
    return savedState(this.#connection, this.#schema);
  }

  async commit(batch: MirrorBatch): Promise<void> {
    if (!(await this.tables[batch.resource].commit(batch))) throw otherMirror("PostgreSQL");
  }

  /** What was extra before may be documented now, and then has a column. */
  async fillColumns(resource: MirrorResource): Promise<void> {
    const table = this.tables[resource];
    const keys = await table.keysWithExtra();
    const state = await this.state();
    for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) {
      const upsert = await table.read(keys.slice(start, start + KEYS_AT_ONCE));
      await table.commit({ upsert, remove: [], previousState: state, state });
    }
  }
}
