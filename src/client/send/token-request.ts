import { TOKEN_REQUEST } from "../../service/operations.js";
import { tokenResponseSchema } from "../../service/token.js";
import { rememberSecret } from "../../shared/errors/redaction/secrets.js";
import { parseTokenLifetimeMs } from "../auth/token-manager.js";
import type { StoredToken } from "../auth/token-store.js";
import type { CallRequest } from "./call.js";
import { assertMatchesSchema, readJsonBody } from "./decode.js";

export interface ClientCredentials {
  clientId: string;
  clientSecret: string;
}

/** `POST /Token`, the client-credentials grant. Source: service interface, "POST /Token". */
export function createTokenRequest({ clientId, clientSecret }: ClientCredentials): CallRequest<StoredToken> {
  return {
    ...TOKEN_REQUEST,
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
    }),
    isTokenRequest: true,
    read: ({ response, sending, validation: { warn } }) => {
      // Without the check of numbers: one that is not exact, of a field that is not read, must not cost the token.
      const data = readJsonBody({ response, sending, validation: { mode: "off", warn } });
      // Without a token nothing works, so this response is validated whatever the client's setting is.
      assertMatchesSchema(tokenResponseSchema, data, { response, sending, validation: { mode: "error", warn } });
      rememberSecret(data.access_token);
      // From the time of sending: the service may have counted from any moment after it.
      return { accessToken: data.access_token, expiresAt: sending.sentAt + parseTokenLifetimeMs(data.expires_in) };
    },
  };
}
