import { TrieRouter } from "hono/router/trie-router";
import { messageOf } from "../shared/unknown.js";
import type { Endpoint, ServiceContext } from "./endpoints/endpoint.js";
import {
  handleCreateItem,
  handleDiscontinueItem,
  handleGetItemByPartNo,
  handleGetItems,
  handleListAllItems,
  handleUpdateItem,
} from "./endpoints/items.js";
import { handleListLots, handleListStockLevels } from "./endpoints/lists.js";
import { handleIssue, handleMove, handleReceive } from "./endpoints/transactions.js";
import { parseFormFields, parseJsonObject } from "./http/body.js";
import {
  badRequestError,
  errorResponse,
  jsonResponse,
  notFoundError,
  type SandboxResponse,
  ServiceError,
} from "./http/messages.js";
import type { SandboxSettings } from "./options/settings.js";

/** Security IDs, as the document numbers them. */
const READ = 11;
const CHANGE_ITEMS = 116;
const RECEIVE = 95;
const MOVE = 15;
const ISSUE = 88;

/** The document's table of endpoints, except POST /Token. If two paths match, the first one takes precedence. */
const ENDPOINTS: readonly Endpoint[] = [
  { method: "GET", path: "/Item", permission: READ, handle: handleGetItems },
  { method: "GET", path: "/Item/All", permission: READ, handle: handleListAllItems },
  { method: "GET", path: "/Item/:partNo", permission: READ, handle: handleGetItemByPartNo },
  { method: "POST", path: "/Item", permission: CHANGE_ITEMS, handle: handleCreateItem },
  { method: "PUT", path: "/Item", permission: CHANGE_ITEMS, handle: handleUpdateItem },
  { method: "DELETE", path: "/Item/:shortID", permission: CHANGE_ITEMS, handle: handleDiscontinueItem },
  { method: "GET", path: "/Inventory", permission: READ, handle: handleListLots },
  { method: "GET", path: "/Inventory/StockLevels", permission: READ, handle: handleListStockLevels },
  { method: "GET", path: "/Inventory/StockLevels/:wid", permission: READ, handle: handleListStockLevels },
  { method: "GET", path: "/Inventory/:wid", permission: READ, handle: handleListLots },
  { method: "POST", path: "/Inventory/Receive", permission: RECEIVE, handle: handleReceive },
  { method: "POST", path: "/Inventory/Move", permission: MOVE, handle: handleMove },
  { method: "POST", path: "/Inventory/Issue", permission: ISSUE, handle: handleIssue },
];

const ROUTER = new TrieRouter<Endpoint>();
for (const endpoint of ENDPOINTS) ROUTER.add(endpoint.method, endpoint.path, endpoint);

const WWW_AUTHENTICATE_HEADERS = { "www-authenticate": "Bearer" };

/**
 * The response that the document describes to a request that the rate limit has admitted. A {@link ServiceError} becomes
 * its error object.
 */
export function dispatchRequest(context: ServiceContext): SandboxResponse {
  try {
    return callEndpoint(context);
  } catch (error) {
    if (error instanceof ServiceError) {
      const { status, code, message, details } = error;
      return errorResponse(status, code, message, {
        details,
        ...(status === 401 && { headers: WWW_AUTHENTICATE_HEADERS }),
      });
    }
    return errorResponse(500, "internal_error", `Unexpected server error: ${messageOf(error)}`);
  }
}

function callEndpoint(context: ServiceContext): SandboxResponse {
  const { request, path, identity, access } = context;
  const { method, body } = request;
  const contentType = request.headers.get("content-type");
  if (path === undefined) throw notFoundError("There is no such resource.");
  if (path === "/Token" && method === "POST") {
    return handleTokenRequest(context, parseFormFields(contentType, body));
  }
  const client = access.authenticate(identity);
  // HEAD is a GET whose body the adapters leave out.
  const route = findRoute(method === "HEAD" ? "GET" : method, path);
  if (!route) throw notFoundError(`There is no resource ${method} ${path}.`);
  const { endpoint, params } = route;
  access.authorize(client, endpoint.permission, endpoint.method !== "GET");
  return endpoint.handle({ ...context, client, params, json: () => parseJsonObject(contentType, body) });
}

/**
 * Finds the endpoint for a path that is still encoded, and decodes the parameters only then: `/Item/A%2FB` names the
 * SKU `A/B`, not a path of three segments.
 */
function findRoute(method: string, path: string): { endpoint: Endpoint; params: Record<string, string> } | undefined {
  const [match] = ROUTER.match(method, path)[0];
  if (!match) return undefined;
  const [endpoint, params] = match;
  const decoded = Object.entries(params).map(([name, value]) => [name, decodePathParam(String(value))]);
  return { endpoint, params: Object.fromEntries(decoded) };
}

function decodePathParam(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequestError("The path is not percent-encoded properly.");
  }
}

/** POST /Token: exchanges client credentials for an access token. */
function handleTokenRequest({ access, settings, now }: ServiceContext, form: URLSearchParams): SandboxResponse {
  if (form.get("grant_type") !== "client_credentials") throw badRequestError("grant_type must be client_credentials.");
  const clientId = form.get("client_id");
  const clientSecret = form.get("client_secret");
  if (!clientId || !clientSecret) throw badRequestError("client_id and client_secret are required.");

  const token = access.issueToken(clientId, clientSecret, now);
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
