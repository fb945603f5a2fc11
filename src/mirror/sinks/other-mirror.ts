import { ConfigurationError } from "../../errors/index.js";

/** For when the saved state is not the one that this mirror saved last. */
export const otherMirror = (place: string) =>
  new ConfigurationError(`mirror: another mirror writes to the copy in ${place}; nothing was written`);
