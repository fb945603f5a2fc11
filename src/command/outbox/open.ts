import { existsSync } from "node:fs";
import type { DeliveryStore } from "../../outbox/delivery-store.js";
import { PostgresOutboxStore } from "../../outbox/stores/postgres-store.js";
import { SqliteOutboxStore } from "../../outbox/stores/sqlite-store.js";
import { CommandError } from "../exit.js";
import { assertPostgresAddress, isPostgresAddress } from "../postgres-address.js";

/** What is done with an outbox. Only `create` creates one; `read` changes nothing. */
export type OutboxUse = "create" | "change" | "read";

/**
 * The store of an outbox.
 *
 * @param what the option or argument with the file, for messages
 * @param file an SQLite file, or the address of a PostgreSQL database
 */
export function outboxStoreOf(what: string, file: string, use: OutboxUse): DeliveryStore {
  if (isPostgresAddress(file)) {
    assertPostgresAddress(what, file);
    return new PostgresOutboxStore({ connectionString: file }, { existing: use !== "create" });
  }
  if (file === "") throw new CommandError(`${what} must be the name of a file.`);
  if (use === "create") return new SqliteOutboxStore({ path: file });
  if (!existsSync(file)) throw new CommandError(`${file}: no such file. Check the path.`);
  return new SqliteOutboxStore({ path: file }, { existing: use });
}
