import type { Query, SqlDatabase } from "../database.js";
import { PostgresConnection, type PostgresConnectionOptions } from "./connection.js";
import { type PostgresQueryable, queryRows } from "./driver.js";

/** A PostgreSQL database. `joined`: runs commands in a transaction that the caller has begun on a connection of its own. */
export interface PostgresDatabase extends SqlDatabase {
  joined(client: PostgresQueryable): Query;
}

const queryOn =
  (session: PostgresQueryable): Query =>
  (sql, values = []) =>
    queryRows(session, sql, [...values]);

/** Its commits are on the disk of the server when they resolve, whatever `synchronous_commit` the database has. */
export function openPostgres(options: PostgresConnectionOptions): PostgresDatabase {
  const connection = new PostgresConnection({ ...options, durable: true });
  return {
    kind: "postgres",
    transaction: (work, timeoutMs) => connection.transaction((session) => work(queryOn(session)), timeoutMs),
    joined: (client) => queryOn(connection.joined(client)),
    close: () => connection.close(),
  };
}
