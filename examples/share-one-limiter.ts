/**
 * Two clients share one limit, because the service counts by address or both use the same credentials. While one client reads
 * everything, the look-ups of the other client do not wait for it.
 *
 *     npx tsx examples/share-one-limiter.ts
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createRateLimiter, InventoryClient } from "stocklot";
import { connect } from "./connect.js";
import { number } from "./terminal.js";

// The sandbox counts by address and allows few requests, so that the effect is visible within a few seconds.
const small = { requests: 20, intervalMs: 1_500 };
const { service, sandbox } = connect({
  items: 400,
  lots: 2_000,
  latencyMs: 10,
  rateLimit: { ...small, per: "address" },
});

// Eight of the 20 slots are reserved for single calls; lists use the rest.
const rateLimiter = createRateLimiter(sandbox ? { ...small, reserved: 8 } : {});
const mirror = new InventoryClient({ ...service, rateLimiter });
const scanner = new InventoryClient({ ...service, rateLimiter });

let reading = true;
const [lots, waits] = await Promise.all([readAllLots(), lookUpNowAndThen()]);

console.log(`mirror: ${number(lots.count)} lots in ${number(lots.ms)} ms`);
console.log(`scanner: ${waits.length} look-ups meanwhile, the slowest in ${number(Math.max(...waits))} ms`);
console.log(`limiter: ${JSON.stringify(rateLimiter.snapshot())}`);
if (sandbox) {
  const refused = sandbox.requests.filter(({ status }) => status === 429).length;
  console.log(`service: ${sandbox.requests.length} requests from one address, ${refused} refused`);
}

// A limiter that was passed in stays open when a client closes, because the other client still needs it.
await mirror.close();
await scanner.close();

async function readAllLots(): Promise<{ count: number; ms: number }> {
  const startedAt = performance.now();
  let count = 0;
  for await (const _lot of mirror.inventory.listLots({ pageSize: 50 })) count += 1;
  reading = false;
  return { count, ms: Math.round(performance.now() - startedAt) };
}

/** Makes look-ups from time to time. Returns how long each took, in ms. */
async function lookUpNowAndThen(): Promise<number[]> {
  const [item] = await scanner.items.list().toArray({ limit: 1 });
  if (!item) throw new Error("the service has no items to look up");
  const waits: number[] = [];
  do {
    const startedAt = performance.now();
    await scanner.items.get(item.shortID);
    waits.push(Math.round(performance.now() - startedAt));
    await sleep(500);
  } while (reading);
  return waits;
}
