import { ConfigurationError } from "../shared/errors/index.js";

/** The service of a client and its account, as stores record them. */
export interface ServiceAccount {
  /** The option `serviceId`; by default the address. */
  readonly id: string;
  /** The base URL without credentials, query and trailing slash. */
  readonly address: string;
  /** The client ID of the account. */
  readonly clientId: string;
}

/**
 * Throws a `ConfigurationError` unless what is stored belongs to the service of the client: the same address and client ID, or
 * the same `serviceId`, if the caller has set one.
 */
export function assertSameAccount(
  { method, noun }: { method: string; noun: string },
  recorded: ServiceAccount,
  own: ServiceAccount,
): void {
  const isSameAccount = recorded.address === own.address && recorded.clientId === own.clientId;
  if (isSameAccount || (recorded.id === own.id && own.id !== own.address)) return;
  const isSameService = recorded.id === own.id;
  const [theirs, ours] = isSameService
    ? [`the client ID "${recorded.clientId}"`, `"${own.clientId}"`]
    : [`the service "${recorded.id}"`, `"${own.id}"`];
  const advice = isSameService
    ? `If both see the same stock, create both clients with one serviceId.`
    : `If it is the same service, create the client with the option serviceId: "${recorded.id}".`;
  throw new ConfigurationError(
    `${method}: the ${noun} belongs to ${theirs}, and the client to ${ours}. Nothing was changed or sent. ` +
      `Use a ${noun} of its own for each. ${advice}`,
  );
}
