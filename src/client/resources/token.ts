import { TOKEN_REQUEST } from "../../service/operations.js";
import { tokenResponseSchema } from "../../service/token.js";
import { ConfigurationError, TimeoutError } from "../../shared/errors/index.js";
import type { ClientSecrets } from "../../shared/errors/secrets.js";
import { DAY_MS } from "../../shared/time/clock.js";
import { afterMs, race, whenAborted } from "../../shared/time/wait.js";
import { messageOf } from "../../shared/unknown.js";
import type { StoredToken } from "../auth/token-store.js";
import type { ApiRequest } from "../send/call.js";
import { assertMatchesSchema, readJsonBody } from "../send/response.js";

export interface Credentials {
  clientId: string;
  /** The client secret, or a function that returns the current one. */
  clientSecret: string | (() => string | Promise<string>);
  /** How long the function may take, in ms. */
  timeoutMs: number;
  /** Where the secret and the token are noted before they are used. */
  secrets: ClientSecrets;
}

/** `POST /Token`, the client-credentials grant. Source: service interface, "POST /Token". */
export async function createTokenRequest(
  credentials: Credentials,
  signal: AbortSignal,
): Promise<ApiRequest<StoredToken>> {
  const { clientId, secrets } = credentials;
  const clientSecret = await readSecret(credentials, signal);
  secrets.rememberSecret(clientSecret);
  return {
    ...TOKEN_REQUEST,
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
    }),
    isTokenRequest: true,
    read: ({ validation: { warn }, ...received }) => {
      const context = { ...received, validation: { mode: "error", warn } } as const;
      const data = readJsonBody(context);
      // Nothing works without a token, so this response is validated in every mode.
      assertMatchesSchema(tokenResponseSchema, data, context);
      secrets.rememberToken(data.access_token);
      // The lifetime counts from the moment of sending, since the service may count from any moment after it.
      return { accessToken: data.access_token, expiresAt: received.sentAt + parseTokenLifetimeMs(data.expires_in) };
    },
  };
}

/** The error shows nothing of what the function returned: it may contain the secret. */
async function readSecret({ clientSecret, timeoutMs }: Credentials, signal: AbortSignal): Promise<string> {
  if (typeof clientSecret === "string") return clientSecret;
  const label = `${TOKEN_REQUEST.method} ${TOKEN_REQUEST.path}: the clientSecret function`;
  const call = async (): Promise<unknown> => clientSecret();
  const failed = (error: unknown) => {
    throw new ConfigurationError(`${label} threw: ${messageOf(error)}`, { cause: error });
  };
  const tooLong = `${label} returned nothing within timeoutMs (${timeoutMs} ms)`;
  const secret = await race(
    call().catch(failed),
    whenAborted(signal),
    afterMs(timeoutMs, () => new TimeoutError(tooLong, { clock: "timeoutMs" })),
  );
  if (typeof secret === "string" && secret !== "") return secret;
  const type = typeof secret === "object" ? "an object" : `a ${typeof secret}`;
  const kind = secret === "" ? "an empty string" : (secret ?? undefined) === undefined ? String(secret) : type;
  throw new ConfigurationError(`${label} must return a non-empty string, not ${kind}`);
}

/**
 * How long a token may be used, in ms. `expires_in` is documented as "token lifetime" and taken as seconds; if it is
 * missing, zero or invalid, the token is used until the service refuses it, at most for a day.
 */
export function parseTokenLifetimeMs(expiresIn: unknown): number {
  const seconds = typeof expiresIn === "string" && expiresIn.trim() !== "" ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== "number" || !(seconds >= 1)) return DAY_MS;
  return Math.min(seconds * 1_000, DAY_MS);
}
