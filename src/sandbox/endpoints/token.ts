import type { TokenIssuer } from "../access/token-issuer.js";
import { formFields } from "../http/body.js";
import { jsonResponse, rawJsonResponse, type SandboxResponse } from "../http/response.js";
import { badRequest, type ErrorCode, errorBody } from "../http/service-error.js";
import type { Settings } from "../options/settings.js";

/** POST /Token: exchanges client credentials for an access token. */
export function issueToken(
  desk: TokenIssuer,
  { tokenTtlSeconds, expiresInForm, ...failure }: Settings,
  request: { contentType: string | null; body: string; now: number },
): SandboxResponse {
  const form = formFields(request.contentType, request.body);
  if (form.get("grant_type") !== "client_credentials") throw badRequest("grant_type must be client_credentials.");
  const clientId = form.get("client_id");
  const clientSecret = form.get("client_secret");
  if (!clientId || !clientSecret) throw badRequest("client_id and client_secret are required.");

  const token = desk.issue(clientId, clientSecret, request.now);
  if (token === undefined) return credentialsRefused(failure);
  return jsonResponse(200, {
    access_token: token,
    token_type: "bearer",
    ...(expiresInForm !== "missing" && {
      expires_in: expiresInForm === "text" ? String(tokenTtlSeconds) : tokenTtlSeconds,
    }),
  });
}

/** The document does not show the response to wrong credentials, so it is an option. */
function credentialsRefused({
  tokenFailureStatus: status,
  tokenFailureForm,
}: Pick<Settings, "tokenFailureStatus" | "tokenFailureForm">): SandboxResponse {
  if (tokenFailureForm === "oauth") return jsonResponse(status, { error: "invalid_client" });
  const code = { 400: "bad_request", 401: "unauthorized", 403: "forbidden" } as const;
  const error: ErrorCode = code[status];
  return rawJsonResponse(status, errorBody(status, error, "The client credentials are not valid."));
}
