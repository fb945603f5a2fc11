import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MirrorSink, postgresSink, sqliteSink } from "stocklot/mirror";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { findPostgres, openPool } from "../../support/postgres-server.js";

/** Where the tests of a file keep copies: a new SQLite file for each test, and an empty schema if there is a PostgreSQL. */
export async function useCopies(name: string) {
  const postgres = await findPostgres();
  const schema = `${name}_${process.pid}`;
  const pool = openPool({ connectionString: postgres?.url ?? "" });
  const files = { folder: "", count: 0, path: "" };
  beforeAll(async () => {
    files.folder = await mkdtemp(join(tmpdir(), `stocklot-${name}-`));
  });
  beforeEach(async () => {
    files.count += 1;
    files.path = join(files.folder, `copy-${files.count}.db`);
    if (postgres) await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  });
  afterAll(async () => {
    await rm(files.folder, { recursive: true });
    await pool.end();
    await postgres?.close();
  });
  const sinks: Record<string, () => MirrorSink> = {
    SQLite: () => sqliteSink({ path: files.path }),
    ...(postgres && { PostgreSQL: () => postgresSink({ connectionString: postgres.url, schema }) }),
  };
  return { files, postgres, schema, pool, sinks };
}
