import { type CreateItemInput, InventoryClient, type Item } from "stocklot";
import { createOutbox, type Outbox, sqliteOutboxStore } from "stocklot/outbox";
import { type Plan, readPlan } from "stocklot/plan";
import { createSandbox, type Sandbox, type SandboxOptions } from "stocklot/sandbox";
import { memoryStore, type StoreData } from "../../src/outbox/stores/memory-store.js";

export interface World {
  sandbox: Sandbox;
  client: InventoryClient;
  /** An outbox on the same store each time, as after a crash. */
  outbox(): Outbox;
  writes(): string[];
  items(): Promise<Item[]>;
}

/** A sandbox with these items, a client, and a store. */
export function world(items: SandboxOptions["items"], options: SandboxOptions = {}, data?: StoreData): World {
  const sandbox = createSandbox({ items, lots: [], rateLimit: false, ...options });
  const client = new InventoryClient({
    baseUrl: sandbox.baseUrl,
    ...sandbox.credentials,
    fetch: sandbox.fetch,
    rateLimit: false,
    retry: { maxRetries: 1, minDelayMs: 1, maxDelayMs: 1 },
  });
  const store = memoryStore(data);
  return {
    sandbox,
    client,
    outbox: () => createOutbox({ client, store, settleMs: 0 }),
    writes: () =>
      sandbox.requests
        .filter(({ method, path }) => method !== "GET" && path !== "/Token")
        .map(({ method, path }) => `${method} ${path}`),
    items: () => client.items.list({ includeDiscontinued: true }).toArray(),
  };
}

/** A plan of items from its document. */
export function readItemPlan(json: unknown): Plan<"items"> {
  const plan = readPlan(json);
  if (plan.kind !== "items") throw new TypeError(`a plan of kind ${plan.kind}`);
  return plan;
}

export const item = (shortID: string, fields: Partial<CreateItemInput> = {}) => ({
  shortID,
  description: `item ${shortID}`,
  category: 1,
  uOM: "EA",
  ...fields,
});

export { sqliteOutboxStore };
