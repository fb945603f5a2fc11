import { ConfigurationError } from "../../errors/index.js";

/** For when a sink is used before `open()`, or after `close()`. */
export function throwNotOpen(sink: string): never {
  throw new ConfigurationError(`${sink}: it is not open`);
}

/** For when the saved state is not the one that this mirror saved last. */
export const otherMirrorError = (place: string) =>
  new ConfigurationError(`mirror: another mirror writes to the copy in ${place}; nothing was written`);

/** For when a table is gone of which the saved state says that it is complete. */
export const tableMissingError = (name: string) =>
  new ConfigurationError(`mirror: the table "${name}" is gone; drop "stocklot_state" too, and the mirror begins anew`);
