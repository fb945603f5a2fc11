import { type ClientOptions, type CreateItemInput, InventoryClient } from "stocklot";
import { createOutbox, type OutboxOptions, sqliteOutboxStore } from "stocklot/outbox";
import { type CountPlan, type ItemPlan, readPlan } from "stocklot/plan";
import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { findSqliteDriver } from "../../src/storage/sqlite-driver.js";
import { ownFolder } from "../support/own-folder.js";

// Loads the driver in advance, because this takes real time, which does not pass in tests with fake timers.
await findSqliteDriver();

const fileNamed = ownFolder();
let worlds = 0;

/** Changes what happens to a request between client and sandbox. */
export type Intercept = (request: Request, send: (changed?: Request) => Promise<Response>) => Promise<Response>;

export type World = ReturnType<typeof world>;

/** Creates a sandbox with these items, a client, and functions for further clients and outboxes. */
export function world(items: SandboxOptions["items"], options: SandboxOptions = {}) {
  const sandbox = createSandbox({ items, lots: [], rateLimit: false, ...options });
  const connect = (intercept: Intercept = (_, send) => send(), clientOptions: ClientOptions = {}) =>
    new InventoryClient({
      baseUrl: sandbox.baseUrl,
      ...sandbox.credentials,
      fetch: (input, init) => {
        const request = new Request(input, init);
        return intercept(request, (changed = request) => sandbox.fetch(changed));
      },
      rateLimit: false,
      timeoutMs: 1_500,
      retry: { maxRetries: 1, minDelayMs: 1, maxDelayMs: 1 },
      ...clientOptions,
    });
  const client = connect();
  worlds += 1;
  const path = fileNamed(`${worlds}.db`);
  return {
    sandbox,
    client,
    connect,
    /** Creates an outbox, on the same store each time, as after a crash. */
    outbox: (more: Partial<OutboxOptions> = {}) =>
      createOutbox({ client, store: sqliteOutboxStore({ path }), settleMs: 1_500, leaseMs: 1_500, ...more }),
    writes: () => sandbox.requests.filter(({ method, path: at }) => method !== "GET" && at !== "/Token"),
    items: () => client.items.list({ includeDiscontinued: true }).toArray(),
  };
}

/** Restores a plan of items from its document. */
export function readItemPlan(json: unknown): ItemPlan {
  const plan = readPlan(json);
  if (plan.kind !== "items") throw new TypeError(`a plan of kind ${plan.kind}`);
  return plan;
}

/** Restores the plan of a stock count from its document. */
export function readCountPlan(json: unknown): CountPlan {
  const plan = readPlan(json);
  if (plan.kind !== "count") throw new TypeError(`a plan of kind ${plan.kind}`);
  return plan;
}

export const item = (shortID: string, fields: Partial<CreateItemInput> = {}) => ({
  shortID,
  description: `item ${shortID}`,
  category: 1,
  uOM: "EA",
  ...fields,
});
