import type { MirrorListStatus, MirrorRecord, MirrorResource, MirrorSink } from "stocklot/mirror";
import { postgresSink, sqliteSink } from "stocklot/mirror";
import { afterAll, beforeEach } from "vitest";
import { RowCodec } from "../../../src/mirror/copy/row-codec.js";
import type { Statement } from "../../../src/mirror/copy/sql.js";
import { keyOf, tableOf } from "../../../src/mirror/tables.js";
import { ownFolder } from "../../support/own-folder.js";
import { findPostgres, openPool } from "../../support/postgres-server.js";

/** Provides places for copies: for each test a new SQLite file, and an empty schema if there is a PostgreSQL server. */
export async function useCopies(name: string, { onlySqlite = false } = {}) {
  const postgres = onlySqlite ? undefined : await findPostgres();
  const schema = `${name}_${process.pid}`;
  const pool = openPool({ connectionString: postgres?.url ?? "" });
  const fileNamed = ownFolder();
  const files = { folder: fileNamed(), count: 0, path: "" };
  const reset = async () => {
    files.count += 1;
    files.path = fileNamed(`copy-${files.count}.db`);
    if (postgres) await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  };
  beforeEach(reset);
  afterAll(async () => {
    await pool.end();
    await postgres?.close();
  });
  const sinks: Record<string, () => MirrorSink> = {
    SQLite: () => sqliteSink({ path: files.path }),
    ...(postgres && { PostgreSQL: () => postgresSink({ connectionString: postgres.url, schema }) }),
  };
  return { files, postgres, schema, pool, sinks, reset };
}

/** Returns all records of a resource in a copy, by key, whether the list is complete or not. */
export async function recordsIn(
  sink: MirrorSink,
  resource: MirrorResource,
): Promise<Map<number | string, MirrorRecord>> {
  return (await allRecordsIn(sink, [resource])).get(resource) ?? new Map();
}

/** Returns all records of several resources. They are of one moment only if nobody writes meanwhile. */
export async function allRecordsIn(sink: MirrorSink, resources: readonly MirrorResource[]) {
  const found = new Map<MirrorResource, Map<number | string, MirrorRecord>>();
  const database = await sink.openReader();
  for (const resource of database ? resources : []) {
    const table = tableOf(resource);
    const codec = new RowCodec(table);
    const rows = (await database?.query(`SELECT * FROM ${database.dialect.nameOf(table.name)}`)) ?? [];
    const records = rows.map((row): [number | string, MirrorRecord] => {
      const [number, wID] = table.key.map((field) => Number(row[field])).reverse();
      return [keyOf({ resource, wID: wID ?? null }, Number(number)), codec.decode(row)];
    });
    found.set(resource, new Map(records));
  }
  await database?.close();
  return found;
}

/** The status of one list. */
export function statusOf(
  status: readonly MirrorListStatus[],
  list: MirrorResource,
  wID: number | null = null,
): MirrorListStatus {
  const found = status.find((one) => one.list === list && one.wID === wID);
  if (found === undefined) throw new Error(`no status of ${list}`);
  return found;
}

/** Simulates the kill of a process. Recognised by its name: an error of the package has a copy of it as its cause. */
export class Killed extends Error {
  override name = "Killed";
}

/** Throws the error unless a kill has caused it. */
export function expectKilled(error: unknown): void {
  for (let cause = error; cause !== undefined; cause = (cause as Error).cause)
    if ((cause as Error).name === "Killed") return;
  throw error;
}

/** Wraps a sink. Calls `onCommit` before and after each commit. Once it has thrown, the opened copy accepts no more commits. */
export function watchedSink(sink: MirrorSink, onCommit: () => void): MirrorSink {
  const watched = {
    openReader: () => sink.openReader(),
    async open() {
      const database = await sink.open();
      let isDead = false;
      const call = () => {
        if (isDead) throw new Killed();
        isDead = true;
        onCommit();
        isDead = false;
      };
      return {
        ...database,
        async commit(version: number, statements: readonly Statement[]) {
          call();
          await database.commit(version, statements);
          call();
        },
      };
    },
  };
  return watched as unknown as MirrorSink;
}
