import { ConfigurationError } from "../../errors/index.js";

/** For when a sink is used before `open()`, or after `close()`. */
export function notOpen(sink: string): never {
  throw new ConfigurationError(`${sink}: it is not open`);
}
