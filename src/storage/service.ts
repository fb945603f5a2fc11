import { ConfigurationError } from "../shared/errors/index.js";
import { wording } from "../shared/errors/wording.js";

/** The service of a client, as stores record it. */
export interface ServiceIdentity {
  /** The option `serviceId`; by default the address. */
  readonly id: string;
  /** The base URL without credentials, query and trailing slash. */
  readonly address: string;
}

/**
 * A store belongs to the service of the first client that uses it: its entries and records mean nothing to another one.
 * The id of a service takes the place of its address, so that the service can move later.
 */
export const mayTakeOver = (recorded: string | undefined, { address }: ServiceIdentity): boolean =>
  recorded === undefined || recorded === address;

/** Throws a `ConfigurationError` if a store belongs to another service than the client. */
export function assertSameService(method: string, recorded: string, { id }: ServiceIdentity): void {
  if (recorded === id) return;
  throw new ConfigurationError(
    `${method}: the store belongs to the service "${recorded}", and the client to "${id}". Nothing was changed. ` +
      `Use a store of its own for each service. If it is the same service, ${wording().serviceId} "${recorded}".`,
  );
}
