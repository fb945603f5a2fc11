import { ConfigurationError } from "../../errors/index.js";

/** Thrown when a sink is used before `open()` or after `close()`. */
export function throwSinkNotOpen(sink: string): never {
  throw new ConfigurationError(`${sink}: the sink is not open. Call open() first.`);
}

/** Thrown when the saved state is not the one that this mirror saved last. */
export const otherMirrorError = (place: string) =>
  new ConfigurationError(
    `mirror: another mirror writes to the copy in ${place}. Nothing was written. Only one mirror may write to a copy.`,
  );

/** Thrown when there is a saved state, but not the table that it describes. */
export const tableMissingError = (name: string) =>
  new ConfigurationError(
    `mirror: the table "${name}" is missing. Drop "stocklot_state" too; the mirror then starts a new copy.`,
  );
