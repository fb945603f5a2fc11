import type { StoreCommand } from "./shared-sql.js";

type Value = string | number | null;

/** One command of a transaction. An array is one value. */
export interface Command {
  command: StoreCommand;
  values: readonly (Value | readonly Value[])[];
}

type Rows = readonly unknown[];

/**
 * Yields the commands of a transaction, and receives the rows of each. With PostgreSQL, a command that fails throws there, so
 * that its part of the caller's transaction can be undone. With SQLite, the transaction is rolled back.
 */
export type Operation<T> = Generator<Command, T, Rows>;

/** Runs one command. */
export function* execute(command: StoreCommand, values: Command["values"] = []): Operation<Rows> {
  return yield { command, values };
}
