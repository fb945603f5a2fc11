import { READS, TOKEN_REQUEST, WRITES } from "../../src/service/operations.js";
import { ERROR_EXAMPLES, ERROR_RESPONSES, errorResponse } from "./errors.js";
import { EXAMPLES } from "./examples.js";
import { type JsonObject, ref } from "./json.js";
import { DESCRIPTIONS, type Description, TOKEN_OPERATION, TOKEN_RESPONSES } from "./operations.js";
import { PAGE_HEADERS, PARAMETERS } from "./parameters.js";
import { schemas } from "./schemas.js";

/** The names of the permissions in the service's document. */
const PERMISSION_NAMES: ReadonlyMap<number, string> = new Map([
  [READS.readItems.permission, "Item Master List"],
  [WRITES.create.permission, "Create/Modify Item Master Record"],
  [WRITES.receive.permission, "Positive Adjustment"],
  [WRITES.move.permission, "Locate/Move Units"],
  [WRITES.issue.permission, "Negative Adjustment"],
]);

const COMMON_ERRORS: JsonObject = {
  429: ref("responses/RateLimited"),
  500: ref("responses/InternalError"),
  501: ref("responses/NotImplemented"),
  default: ref("responses/Other"),
};

const ABOUT = `An HTTP/JSON inventory management interface: a catalog of items, inventory lots, aggregate stock levels, and three inventory transactions (receive, move, issue).

**Authentication.** A client obtains a token with \`POST /Token\` and sends it with every other request. After a 401 it requests a new token and retries the request. Each client is limited to certain warehouses (its scope), has permissions by security ID, and may be read-only.

**Paging.** A client reads all records by increasing \`page\` until \`hasMore\` is false. Pages hold 25 records by default and 250 at most.

**Limits.** 100 requests per minute; over the limit is a 429, and the client waits 30 to 60 seconds. Whether the counter is per client or per address is not shown.

**Not covered.** Endpoints for purchase orders, shipping orders, work orders and reports are mentioned in the service's document without being shown. So are their largest pages (orders 50, reports 1000), \`startDate\` and \`endDate\` of orders, and the 403 \`Report access denied.\` of reports. Events and webhooks are not shown.

Where this document says "not shown", the service's document leaves it open.`;

/** Returns the OpenAPI document. It combines the table of operations, the client's schemas, and the descriptions of both. */
export function openApiDocument(): JsonObject {
  return {
    openapi: "3.1.1",
    info: {
      title: "Inventory and Item Catalog Service",
      version: "v1",
      summary: "Items, warehouse lots, stock levels, and the three stock transactions.",
      description: ABOUT,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [
      {
        url: "https://{host}/api/v1",
        description: "The base address ends with the version segment.",
        variables: { host: { default: "inventory.example.com", description: "Where the service runs." } },
      },
    ],
    security: [{ clientCredentials: [] }],
    tags: [
      { name: "Token", description: "Authentication." },
      { name: "Items", description: "The item catalog (the item master)." },
      { name: "Inventory", description: "Lots, stock levels, and the stock transactions." },
    ],
    paths: paths(),
    components: {
      securitySchemes: {
        clientCredentials: {
          type: "oauth2",
          description: "The token goes into the header `Authorization: Bearer <ACCESS_TOKEN>`. There are no scopes.",
          flows: { clientCredentials: { tokenUrl: "/api/v1/Token", scopes: {} } },
        },
      },
      parameters: PARAMETERS,
      headers: PAGE_HEADERS,
      responses: ERROR_RESPONSES,
      examples: { ...EXAMPLES, ...ERROR_EXAMPLES },
      schemas: schemas(),
    },
  };
}

function paths(): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {
    [TOKEN_REQUEST.path]: { post: { ...TOKEN_OPERATION, responses: { ...TOKEN_RESPONSES, ...COMMON_ERRORS } } },
  };
  for (const [name, operation] of Object.entries({ ...READS, ...WRITES }))
    if (!DESCRIPTIONS.some((described) => described.operation === operation))
      throw new Error(`tools/openapi/operations.ts does not describe ${name}`);
  for (const description of DESCRIPTIONS) {
    const { path, method } = description.operation;
    paths[path] = { ...paths[path], [method.toLowerCase()]: describedOperation(description) };
  }
  return paths;
}

function describedOperation(described: Description): JsonObject {
  const { method, permission } = described.operation;
  const { operationId, tag, summary, parameters, body, responses, scoped } = described;
  const needs = `Needs the permission ${PERMISSION_NAMES.get(permission)} (SecurityID ${permission}).`;
  const writes = method !== "GET";
  return {
    operationId,
    tags: [tag],
    summary,
    description: described.description ? `${described.description}\n\n${needs}` : needs,
    ...(parameters && { parameters }),
    ...(body && { requestBody: body }),
    responses: {
      400: ref("responses/BadRequest"),
      401: ref("responses/Unauthorized"),
      403: errorResponse(
        ["The permission is missing", writes && "the client is read-only", scoped && "a warehouse is out of scope"]
          .filter(Boolean)
          .join(", or ")
          .concat("."),
        "insufficientPermissions",
        ...(writes ? (["readOnlyAccount"] as const) : []),
        ...(scoped ? (["outOfScope"] as const) : []),
      ),
      ...responses,
      ...COMMON_ERRORS,
    },
  };
}
