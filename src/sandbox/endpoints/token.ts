import type { TokenIssuer } from "../access.js";
import { errorResponse, jsonResponse, type SandboxResponse } from "../http/messages.js";
import { badRequestError } from "../http/service-error.js";
import type { SandboxSettings } from "../options/settings.js";
import type { ServiceContext } from "./endpoint.js";

/** POST /Token: exchanges client credentials for an access token. */
export function handleTokenRequest(
  tokens: TokenIssuer,
  { settings, now }: ServiceContext,
  form: URLSearchParams,
): SandboxResponse {
  if (form.get("grant_type") !== "client_credentials") throw badRequestError("grant_type must be client_credentials.");
  const clientId = form.get("client_id");
  const clientSecret = form.get("client_secret");
  if (!clientId || !clientSecret) throw badRequestError("client_id and client_secret are required.");

  const token = tokens.issue(clientId, clientSecret, now);
  if (token === undefined) return refusedCredentialsResponse(settings);
  const { tokenTtlSeconds, expiresInForm } = settings;
  return jsonResponse(200, {
    access_token: token,
    token_type: "bearer",
    ...(expiresInForm !== "missing" && {
      expires_in: expiresInForm === "text" ? String(tokenTtlSeconds) : tokenTtlSeconds,
    }),
  });
}

/** The document does not show the response to wrong credentials, so it is an option. */
function refusedCredentialsResponse({
  tokenFailureStatus: status,
  tokenFailureForm,
}: SandboxSettings): SandboxResponse {
  if (tokenFailureForm === "oauth") return jsonResponse(status, { error: "invalid_client" });
  const code = { 400: "bad_request", 401: "unauthorized", 403: "forbidden" } as const;
  return errorResponse(status, code[status], "The client credentials are not valid.");
}
