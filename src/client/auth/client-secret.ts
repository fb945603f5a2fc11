import { rememberCredentials } from "../../shared/errors/redaction/secrets.js";
import type { Cancellation } from "../../shared/time/cancellation.js";
import { afterMs } from "../../shared/time/wait.js";
import { messageOf } from "../../shared/unknown.js";

/** The client secret, or a function that returns the current one. */
export type ClientSecret = string | (() => string | Promise<string>);

/** Thrown if the caller's `clientSecret` function returned no secret. Each waiting call creates its own error from it. */
export class ClientSecretFailure extends Error {
  constructor(
    readonly kind: "timeout" | "invalid",
    message: string,
    cause?: unknown,
  ) {
    super(`the clientSecret function ${message}`, { cause });
  }
}

export interface ClientSecretSource {
  clientId: string;
  clientSecret: ClientSecret;
  /** How long a function may take, in ms. */
  timeoutMs: number;
}

/** Returns a function that reads the secret for one token request. It rejects with a `ClientSecretFailure`. */
export function createClientSecretReader(source: ClientSecretSource): (cancellation: Cancellation) => Promise<string> {
  const { clientId, clientSecret, timeoutMs } = source;
  if (typeof clientSecret === "string") {
    const useSecret = () => {
      rememberCredentials({ clientId, clientSecret });
      return clientSecret;
    };
    useSecret();
    return async () => useSecret();
  }
  return async (cancellation) => {
    cancellation.throwIfCanceled();
    const problem = `returned nothing within timeoutMs (${timeoutMs} ms)`;
    const limit = afterMs(timeoutMs, () => new ClientSecretFailure("timeout", problem));
    const secret = await cancellation.race(callForSecret(clientSecret), limit);
    rememberCredentials({ clientId, clientSecret: secret });
    return secret;
  };
}

async function callForSecret(readSecret: () => unknown): Promise<string> {
  let secret: unknown;
  try {
    secret = await readSecret();
  } catch (error) {
    throw new ClientSecretFailure("invalid", `threw: ${messageOf(error)}`, error);
  }
  if (typeof secret === "string" && secret !== "") return secret;
  throw new ClientSecretFailure("invalid", `must return a non-empty string, not ${describe(secret)}`);
}

/** Describes a value without showing it, since it may contain the secret. */
function describe(value: unknown): string {
  if (value === "") return "an empty string";
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
