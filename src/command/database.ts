import { existsSync } from "node:fs";
import type { Outbox, OutboxOptions } from "../outbox/for-rooms.js";
import { type OutboxStore, PostgresOutboxStore, SqliteOutboxStore } from "../outbox/for-rooms.js";
import { createOutbox } from "../outbox/index.js";
import { parseUrl } from "../shared/url.js";
import { CommandError } from "./exit.js";
import { noteWaiting } from "./terminal.js";

const ADDRESS_PATTERN = /^(postgres(ql)?:\/\/|socket:|\/)/;

/** Whether an argument is an address and not a file. The name of a file may begin with a slash. */
export const isPostgresAddress = (text: string): boolean => /^(postgres(ql)?|socket):/i.test(text);

/**
 * The address of a PostgreSQL database, verified: the driver accepts any string.
 *
 * @param what the option or argument, for messages; the address itself may contain a password, so it is not quoted
 */
export function postgresAddress(what: string, address: string): string {
  if (!ADDRESS_PATTERN.test(address))
    throw new CommandError(`${what} must be an address such as postgres://user@host/database.`);
  if (!hasPassword(address)) return address;
  const advice = "since others can see it. Put it into PGPASSWORD or a .pgpass file.";
  throw new CommandError(`${what} must not contain a password, ${advice}`);
}

/**
 * Whether an address may have a password. True in case of doubt: a password may contain characters that no URL allows.
 */
function hasPassword(address: string): boolean {
  if (/[?&]\w*password=/i.test(address)) return true;
  const url = parseUrl(address);
  return url ? url.password !== "" : /^\w+:\/\/[^@/]*:.*@/s.test(address);
}

/**
 * Refuses a file name that looks like an address: the file would be a new, empty database, and its name would show the
 * password.
 */
export function assertNoAddress(what: string, file: string): void {
  if (!/:\/\/|^\s*(jdbc|postgres(ql)?|socket):|\b(host|dbname|user|password|port)\s*=/i.test(file)) return;
  const shown = file.includes("://") ? ` (${file.trim().replace(/:\/\/.*@/s, "://…@")})` : "";
  throw new CommandError(
    `${what} looks like the address of a database${shown}. Use a file, or an address such as postgres://user@host/database.`,
  );
}

/** How an outbox is opened. Only `create` creates one; `read` changes nothing. */
export type OutboxUse = "create" | "change" | "read";

/**
 * The store of an outbox.
 *
 * @param what the option or argument with the file, for messages
 * @param file an SQLite file, or the address of a PostgreSQL database
 */
export function outboxStoreOf(what: string, file: string, use: OutboxUse): OutboxStore {
  const existing = use === "create" ? undefined : use;
  if (isPostgresAddress(file))
    return new PostgresOutboxStore({ connectionString: postgresAddress(what, file) }, { existing });
  if (file === "") throw new CommandError(`${what} must be the name of a file.`);
  assertNoAddress(what, file);
  if (use === "create") return new SqliteOutboxStore({ path: file });
  // It may be an address without its scheme.
  if (!existsSync(file)) throw new CommandError(`${file.replace(/:.*@/s, ":…@")}: no such file. Check the path.`);
  return new SqliteOutboxStore({ path: file }, { existing: use });
}

export async function withOutbox<T>(options: OutboxOptions, work: (outbox: Outbox) => Promise<T>): Promise<T> {
  const outbox = createOutbox(options);
  outbox.onWait = (what, waitMs) =>
    what === "sender"
      ? noteWaiting(waitMs, "another process that sends", "if it is silent, ")
      : noteWaiting(waitMs, "a lost response");
  try {
    return await work(outbox);
  } finally {
    await outbox.close();
  }
}
