import type { TokenDesk } from "../auth/token-desk.js";
import { formFields } from "../http/body.js";
import { badRequest, type ErrorCode, errorBody } from "../http/refusal.js";
import { json, jsonText, type Reply } from "../http/reply.js";
import type { Settings } from "../settings.js";

/** POST /Token: client credentials against an access token. */
export function answerToken(
  desk: TokenDesk,
  { tokenTtlSeconds, expiresInForm, ...failure }: Settings,
  request: { contentType: string | null; body: string; now: number },
): Reply {
  const form = formFields(request.contentType, request.body);
  if (form.get("grant_type") !== "client_credentials") throw badRequest("grant_type must be client_credentials.");
  const clientId = form.get("client_id");
  const clientSecret = form.get("client_secret");
  if (!clientId || !clientSecret) throw badRequest("client_id and client_secret are required.");

  const token = desk.issue(clientId, clientSecret, request.now);
  if (token === undefined) return refused(failure);
  return json(200, {
    access_token: token,
    token_type: "bearer",
    ...(expiresInForm !== "missing" && {
      expires_in: expiresInForm === "text" ? String(tokenTtlSeconds) : tokenTtlSeconds,
    }),
  });
}

/** What wrong credentials get is not shown in the document, so it is an option. */
function refused({
  tokenFailureStatus: status,
  tokenFailureForm,
}: Pick<Settings, "tokenFailureStatus" | "tokenFailureForm">): Reply {
  if (tokenFailureForm === "oauth") return json(status, { error: "invalid_client" });
  const code = { 400: "bad_request", 401: "unauthorized", 403: "forbidden" } as const;
  const error: ErrorCode = code[status];
  return jsonText(status, errorBody(status, error, "The client credentials are not valid."));
}
