import { type Operation, READS, WRITES } from "../service/operations.js";
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

/**
 * The handler of each operation of the document. `readItems` lists items or returns one item. A missing operation does
 * not compile.
 */
const HANDLERS = {
  readItems: handleGetItems,
  listAllItems: handleListAllItems,
  getItemByPartNo: handleGetItemByPartNo,
  listLots: handleListLots,
  listLotsOfWarehouse: handleListLots,
  listStockLevels: handleListStockLevels,
  listStockLevelsOfWarehouse: handleListStockLevels,
  create: handleCreateItem,
  update: handleUpdateItem,
  discontinue: handleDiscontinueItem,
  receive: handleReceive,
  move: handleMove,
  issue: handleIssue,
} satisfies Readonly<Record<OperationName, Endpoint["handle"]>>;

type OperationName = keyof typeof READS | keyof typeof WRITES;

const handlers: ReadonlyMap<string, Endpoint["handle"]> = new Map(Object.entries(HANDLERS));

/** The endpoints by method and path. Paths without a parameter come first: `/Item/All` is not an item. */
const ENDPOINTS = Object.entries<Operation>({ ...READS, ...WRITES })
  .map(([name, { method, path, permission }]) => ({
    request: new RegExp(`^${method} ${path.replace(/{\w+}/, "([^/]+)")}$`),
    hasParameter: path.includes("{"),
    permission,
    handle: handlers.get(name),
  }))
  .sort((one, next) => Number(one.hasParameter) - Number(next.hasParameter));

/** The endpoint of a request. The parameter is decoded later: `/Item/A%2FB` names the SKU `A/B`, not a path of three segments. */
function endpointOf(method: string, path: string): Endpoint | undefined {
  for (const { request, permission, handle } of ENDPOINTS) {
    const match = request.exec(`${method} ${path}`);
    if (match && handle) return { permission, handle, param: match[1] };
  }
  return undefined;
}

/**
 * The response that the document describes to a request that the rate limit has admitted. A {@link ServiceError} becomes
 * its error object.
 */
export function dispatchRequest(context: ServiceContext): SandboxResponse {
  try {
    return callEndpoint(context);
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      return errorResponse(500, "internal_error", `Unexpected server error: ${messageOf(error)}`);
    }
    const { status, code, message, details } = error;
    const headers = status === 401 ? { "www-authenticate": "Bearer" } : {};
    return errorResponse(status, code, message, { details, headers });
  }
}

function callEndpoint(context: ServiceContext): SandboxResponse {
  const { request, path, identity, access } = context;
  const { method, body, headers } = request;
  const contentType = headers.get("content-type");
  if (path === undefined) throw notFoundError("There is no such resource.");
  if (path === "/Token" && method === "POST") return handleTokenRequest(context, parseFormFields(contentType, body));

  const client = access.authenticate(identity);
  // HEAD is a GET whose body the adapters leave out.
  const effective = method === "HEAD" ? "GET" : method;
  const endpoint = endpointOf(effective, path);
  if (!endpoint) throw notFoundError(`There is no resource ${method} ${path}.`);
  const { permission, handle, param } = endpoint;
  access.authorize(client, permission, effective !== "GET");
  const decoded = param === undefined ? {} : { param: decodePathParam(param) };
  return handle({ ...context, client, ...decoded, json: () => parseJsonObject(contentType, body) });
}

function decodePathParam(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequestError("The path is not percent-encoded properly.");
  }
}

function handleTokenRequest({ access, settings, now }: ServiceContext, form: URLSearchParams): SandboxResponse {
  if (form.get("grant_type") !== "client_credentials") throw badRequestError("grant_type must be client_credentials.");
  const clientId = form.get("client_id");
  const clientSecret = form.get("client_secret");
  if (!clientId || !clientSecret) throw badRequestError("client_id and client_secret are required.");
  const token = access.issueToken(clientId, clientSecret, now);
  // The document does not show the response to wrong credentials.
  if (token === undefined) throw new ServiceError("unauthorized", "The client credentials are not valid.");
  return jsonResponse(200, { access_token: token, token_type: "bearer", expires_in: settings.tokenTtlSeconds });
}
