import { randomUUID } from "node:crypto";
import { afterAll } from "vitest";
import { ownFolder } from "../../support/own-folder.js";
import { findPostgres, newDatabase } from "../../support/postgres-server.js";

/** Provides places for outboxes and copies: SQLite files, and PostgreSQL databases if there is a server. */
export async function usePlaces() {
  const postgres = await findPostgres();
  afterAll(() => postgres?.close());
  const fileNamed = ownFolder();
  return {
    databases: ["SQLite", ...(postgres ? ["PostgreSQL"] : [])],
    /** A new file, or the address of a new database. */
    newPlace: async (database = "SQLite") =>
      database === "PostgreSQL" ? newDatabase(postgres) : fileNamed(`${randomUUID()}.db`),
  };
}
