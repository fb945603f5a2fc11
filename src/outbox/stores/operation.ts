import type { StoreCommand } from "./shared-sql.js";

type Value = string | number | null;

/** One command of a transaction. An array is one value. */
export interface Command {
  command: StoreCommand;
  values: readonly (Value | readonly Value[])[];
}

type Rows = readonly unknown[];

/** Yields the commands of a transaction, and receives the rows of each. A command that fails throws there. */
export type Operation<T> = Generator<Command, T, Rows>;

/** Runs one command. */
export function* run(command: StoreCommand, values: Command["values"] = []): Operation<Rows> {
  return yield { command, values };
}
