import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CreateItemInput, InventoryClient, type Item } from "stocklot";
import { createOutbox, type Outbox, sqliteOutboxStore } from "stocklot/outbox";
import { type CountPlan, type ItemPlan, readPlan } from "stocklot/plan";
import { createSandbox, type Sandbox, type SandboxOptions } from "stocklot/sandbox";
import { afterAll } from "vitest";
import { findSqliteDriver } from "../../src/storage/sqlite.js";

// Now: to load it takes real time, which tests with fake timers do not have.
await findSqliteDriver();

const folder = mkdtempSync(join(tmpdir(), "stocklot-plan-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let worlds = 0;

export interface World {
  sandbox: Sandbox;
  client: InventoryClient;
  /** The file of its outbox. */
  path: string;
  /** An outbox on the same store each time, as after a crash. */
  outbox(): Outbox;
  writes(): string[];
  items(): Promise<Item[]>;
}

/** A sandbox with these items, a client, and a store. */
export function world(items: SandboxOptions["items"], options: SandboxOptions = {}): World {
  const sandbox = createSandbox({ items, lots: [], rateLimit: false, ...options });
  const client = new InventoryClient({
    baseUrl: sandbox.baseUrl,
    ...sandbox.credentials,
    fetch: sandbox.fetch,
    rateLimit: false,
    timeoutMs: 1_500,
    retry: { maxRetries: 1, minDelayMs: 1, maxDelayMs: 1 },
  });
  worlds += 1;
  const path = join(folder, `${worlds}.db`);
  return {
    sandbox,
    client,
    path,
    outbox: () => createOutbox({ client, store: sqliteOutboxStore({ path }), settleMs: 1_500, leaseMs: 1_500 }),
    writes: () =>
      sandbox.requests
        .filter(({ method, path }) => method !== "GET" && path !== "/Token")
        .map(({ method, path }) => `${method} ${path}`),
    items: () => client.items.list({ includeDiscontinued: true }).toArray(),
  };
}

/** A plan of items from its document. */
export function readItemPlan(json: unknown): ItemPlan {
  const plan = readPlan(json);
  if (plan.kind !== "items") throw new TypeError(`a plan of kind ${plan.kind}`);
  return plan;
}

/** The plan of a stock count from its document. */
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

export { sqliteOutboxStore };
