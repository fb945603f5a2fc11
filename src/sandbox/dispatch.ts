import { TrieRouter } from "hono/router/trie-router";
import { messageOf } from "../errors/unknown-value.js";
import type { AccessControl, CallerIdentity } from "./access/access-control.js";
import type { Endpoint, ServiceContext } from "./endpoints/endpoint.js";
import { ENDPOINTS } from "./endpoints/index.js";
import { handleTokenRequest } from "./endpoints/token.js";
import { parseFormFields, parseJsonObject } from "./http/body.js";
import type { SandboxRequest } from "./http/request.js";
import { errorResponse, type SandboxResponse } from "./http/response.js";
import { badRequestError, notFoundError, ServiceError } from "./http/service-error.js";

const findRoute = createRouter(ENDPOINTS);

const WWW_AUTHENTICATE_HEADERS = { "www-authenticate": "Bearer" };

/**
 * The response that the document describes to a request that the rate limit has admitted. A {@link ServiceError} becomes
 * its error object.
 *
 * @param path relative to the base address, encoded; undefined when the request went elsewhere
 */
export function dispatchRequest(
  request: SandboxRequest,
  path: string | undefined,
  identity: CallerIdentity,
  access: AccessControl,
  context: ServiceContext,
): SandboxResponse {
  try {
    return callEndpoint(request, path, identity, access, context);
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

function callEndpoint(
  request: SandboxRequest,
  path: string | undefined,
  identity: CallerIdentity,
  access: AccessControl,
  context: ServiceContext,
): SandboxResponse {
  const { method, body } = request;
  const contentType = request.header("content-type");
  if (path === undefined) throw notFoundError("There is no such resource.");
  if (path === "/Token" && method === "POST") {
    return handleTokenRequest(access.tokens, context, parseFormFields(contentType, body));
  }
  const client = access.authenticate(identity);
  // HEAD is a GET whose body the adapters leave out.
  const route = findRoute(method === "HEAD" ? "GET" : method, path);
  if (!route) throw notFoundError(`There is no resource ${method} ${path}.`);
  const { endpoint, params } = route;
  access.authorize(client, endpoint.permission, endpoint.method !== "GET");
  return endpoint.handle({ ...context, client, params, json: () => parseJsonObject(contentType, body) });
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
