import { type ClientOptions, InventoryClient } from "stocklot";
import { createSandbox, type FaultRule, type SandboxOptions } from "stocklot/sandbox";
import { expect, it } from "vitest";

const RECEIPT = { itemID: "A", units: 1, wid: 1, reasonCode: 1 };
const read = (client: InventoryClient) => client.items.get("A");
const receive = (client: InventoryClient) => client.inventory.receive(RECEIPT);
const withFault = (rule: FaultRule): SandboxOptions => ({ faults: [rule] });
const as = (client: object): SandboxOptions => ({ clients: [{ clientId: "c", clientSecret: "s", ...client }] });

function start(options: SandboxOptions = {}, clientOptions: Partial<ClientOptions> = {}) {
  const sandbox = createSandbox({ items: [{ shortID: "A" }], lots: [{ shortID: "A", units: 3 }], ...options });
  const { baseUrl, credentials, fetch } = sandbox;
  const client = new InventoryClient({ baseUrl, ...credentials, fetch, retry: false, ...clientOptions });
  return { sandbox, client };
}

const htmlForItems: NonNullable<SandboxOptions["rewrite"]> = (response, request) =>
  request.url.includes("/Item") ? new Response("<html>", { headers: { "content-type": "text/html" } }) : response;

interface Row {
  readonly name: string;
  readonly options?: SandboxOptions;
  readonly call: (client: InventoryClient) => Promise<unknown>;
  readonly fields?: object;
}

/** The guide's table "Provoking each error". */
const ROWS: readonly Row[] = [
  { name: "InputValidationError", call: (client) => client.inventory.receive({ ...RECEIPT, units: 0 }) },
  { name: "ValidationError", call: (client) => client.request({ method: "POST", path: "/Item", body: {} }) },
  { name: "BadRequestError", call: (client) => client.inventory.issue({ ...RECEIPT, units: 9 }) },
  { name: "NotFoundError", call: (client) => client.items.get("no such SKU") },
  { name: "ConflictError", call: (client) => client.items.create({ shortID: "A" }) },
  { name: "AuthenticationError", options: withFault({ path: "/Item", fault: 401 }), call: read },
  { name: "PermissionError", options: as({ permissions: [11] }), call: receive },
  { name: "PermissionError", options: as({ readOnly: true }), call: receive, fields: { reason: "read-only" } },
  { name: "PermissionError", options: as({ warehouses: [2] }), call: receive },
  { name: "NotImplementedError", options: withFault({ path: "/Item*", fault: 501 }), call: read },
  { name: "ServerError", options: withFault({ path: "/Item*", fault: 503 }), call: read },
  { name: "RateLimitError", options: withFault({ path: "/Item*", fault: 429 }), call: read },
  { name: "ConnectionError", options: withFault({ method: "GET", fault: "drop" }), call: read },
  { name: "TimeoutError", options: withFault({ method: "GET", fault: "hang" }), call: read },
  { name: "OutcomeUnknownError", options: withFault({ path: "/Inventory/*", fault: "drop-after" }), call: receive },
  { name: "OutcomeUnknownError", options: withFault({ path: "/Inventory/*", fault: "truncated" }), call: receive },
  {
    name: "ResponseValidationError",
    options: withFault({ path: "/Item*", fault: { type: "status", status: 200, body: {} } }),
    call: read,
  },
  { name: "ResponseValidationError", options: { rewrite: htmlForItems }, call: read },
];

it.each(ROWS)("the guide's way to a $name: %#", async ({ name, options, call, fields = {} }) => {
  const { client } = start(options, { timeoutMs: 300 });
  await expect(call(client)).rejects.toMatchObject({ name, ...fields });
});
