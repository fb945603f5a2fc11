import type { TokenIssuer } from "../access/token-issuer.js";
import { parseFormFields } from "../http/body.js";
import { jsonResponse, type SandboxResponse, serializedJsonResponse } from "../http/response.js";
import { badRequestError, type ErrorCode, errorBodyJson } from "../http/service-error.js";
import type { SandboxSettings } from "../options/settings.js";

/** POST /Token: exchanges client credentials for an access token. */
export function handleTokenRequest(
  desk: TokenIssuer,
  { tokenTtlSeconds, expiresInForm, ...failure }: SandboxSettings,
  request: { contentType: string | null; body: string; now: number },
): SandboxResponse {
  const form = parseFormFields(request.contentType, request.body);
  if (form.get("grant_type") !== "client_credentials") throw badRequestError("grant_type must be client_credentials.");
  const clientId = form.get("client_id");
  const clientSecret = form.get("client_secret");
  if (!clientId || !clientSecret) throw badRequestError("client_id and client_secret are required.");

  const token = desk.issue(clientId, clientSecret, request.now);
  if (token === undefined) return refusedCredentialsResponse(failure);
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
}: Pick<SandboxSettings, "tokenFailureStatus" | "tokenFailureForm">): SandboxResponse {
  if (tokenFailureForm === "oauth") return jsonResponse(status, { error: "invalid_client" });
  const code = { 400: "bad_request", 401: "unauthorized", 403: "forbidden" } as const;
  const error: ErrorCode = code[status];
  return serializedJsonResponse(status, errorBodyJson(status, error, "The client credentials are not valid."));
}
