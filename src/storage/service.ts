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
 * Throws a `ConfigurationError` unless the recorded service is the client's service: it has the same address and client
 * ID, or the `serviceId` that the caller has set. A copy always needs the same client ID, because it shows what that
 * client may see.
 */
export function assertSameAccount(
  { method, noun }: { method: string; noun: "store" | "plan" | "snapshot" | "copy" },
  recorded: ServiceAccount,
  own: ServiceAccount,
): void {
  const isCopy = noun === "copy";
  const isSameClient = recorded.clientId === own.clientId;
  const isSameService = recorded.id === own.id || (isCopy && recorded.address === own.address);
  const isNamedAlike = recorded.id === own.id && own.id !== own.address;
  if (isCopy ? isSameService && isSameClient : isNamedAlike || (recorded.address === own.address && isSameClient))
    return;
  const [theirs, ours] = isSameService
    ? [`the client ID "${recorded.clientId}"`, `"${own.clientId}"`]
    : [`the service "${recorded.id}"`, `"${own.id}"`];
  const advice = isSameService
    ? isCopy
      ? ""
      : " If both see the same stock, create both clients with one serviceId."
    : ` If it is the same service, create the client with the option serviceId: "${recorded.id}".`;
  throw new ConfigurationError(
    `${method}: the ${noun} belongs to ${theirs}, and the client to ${ours}. Nothing was changed or sent. ` +
      `Use ${isCopy ? "a new copy" : `a ${noun} of its own`} for each.${advice}`,
  );
}
