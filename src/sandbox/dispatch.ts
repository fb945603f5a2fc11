import { TrieRouter } from "hono/router/trie-router";
import type { AccessControl, CallerIdentity } from "./access/access-control.js";
import type { Endpoint } from "./endpoints/endpoint.js";
import { ENDPOINTS } from "./endpoints/index.js";
import { handleTokenRequest } from "./endpoints/token.js";
import { parseJsonObject } from "./http/body.js";
import type { SandboxRequest } from "./http/request.js";
import { type SandboxResponse, serializedJsonResponse } from "./http/response.js";
import { badRequestError, errorBodyJson, notFoundError, ServiceError } from "./http/service-error.js";
import type { EmitTransaction } from "./listeners.js";
import type { SandboxSettings } from "./options/settings.js";
import type { SandboxState } from "./state.js";

/** A request that the rate limit has admitted, and everything that is needed to respond. */
export interface DispatchInput {
  readonly request: SandboxRequest;
  /** Relative to the base address, encoded; undefined when the request went elsewhere. */
  readonly path: string | undefined;
  readonly query: URLSearchParams;
  readonly identity: CallerIdentity;
  readonly access: AccessControl;
  readonly state: SandboxState;
  readonly settings: SandboxSettings;
  readonly now: number;
  readonly emitTransaction: EmitTransaction;
}

const findRoute = createRouter(ENDPOINTS);

/** The response that the document describes; a {@link ServiceError} becomes its error object. */
export function dispatchRequest(input: DispatchInput): SandboxResponse {
  try {
    return callEndpoint(input);
  } catch (error) {
    if (error instanceof ServiceError) {
      const { status, code, message, details } = error;
      return serializedJsonResponse(
        status,
        errorBodyJson(status, code, message, details),
        status === 401 ? WWW_AUTHENTICATE_HEADERS : undefined,
      );
    }
    const message = error instanceof Error ? error.message : String(error);
    return serializedJsonResponse(500, errorBodyJson(500, "internal_error", `Unexpected server error: ${message}`));
  }
}

const WWW_AUTHENTICATE_HEADERS = { "www-authenticate": "Bearer" };

function callEndpoint({
  request,
  path,
  query,
  identity,
  access,
  state,
  settings,
  now,
  emitTransaction,
}: DispatchInput): SandboxResponse {
  const contentType = request.header("content-type");
  if (path === undefined) throw notFoundError("There is no such resource.");
  if (path === "/Token" && request.method === "POST") {
    return handleTokenRequest(access.tokens, settings, { contentType, body: request.body, now });
  }
  const client = access.authenticate(identity);
  // HEAD is a GET whose body the adapters leave out.
  const route = findRoute(request.method === "HEAD" ? "GET" : request.method, path);
  if (!route) throw notFoundError(`There is no resource ${request.method} ${path}.`);
  const { endpoint, params } = route;
  access.authorize(client, endpoint.permission, endpoint.method !== "GET");
  const body = () => parseJsonObject(contentType, request.body);
  return endpoint.handle({ client, params, query, json: body, state, settings, now, emitTransaction });
}

/** The endpoint for a request, with its path parameters decoded. */
interface Route {
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Finds the endpoint for a path that is still encoded, and decodes the parameters only then: `/Item/A%2FB` names the
 * SKU `A/B`, not a path of three segments.
 */
function createRouter(endpoints: readonly Endpoint[]): (method: string, path: string) => Route | undefined {
  const router = new TrieRouter<Endpoint>();
  for (const endpoint of endpoints) router.add(endpoint.method, endpoint.path, endpoint);
  return (method, path) => {
    const [match] = router.match(method, path)[0];
    if (!match) return undefined;
    const [endpoint, params] = match;
    return { endpoint, params: decodePathParams(params) };
  };
}

function decodePathParams(params: Readonly<Record<string, unknown>>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name in params) values[name] = decodePathParam(String(params[name]));
  return values;
}

function decodePathParam(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequestError("The path is not percent-encoded properly.");
  }
}
