/** Program of the killed processes. It adds entries to an outbox, and runs the outbox again and again until it is killed. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ClientOptions, InventoryClient } from "../../../src/index.js";
import { createOutbox, type OutboxOptions } from "../../../src/outbox/index.js";
import { type StoreSpec, storeAt } from "../support/store-spec.js";
import { entryAt } from "./entries.js";

/** The options of a worker, which it receives as JSON. */
export interface WorkerOptions {
  /** The name of the worker, which it sends with each request. */
  name: string;
  service: ClientOptions;
  store: StoreSpec;
  mark: OutboxOptions["mark"];
  settleMs: number;
  leaseMs: number;
  /** The worker adds the entries with the numbers from `from` up to, but not including, `to`. */
  from: number;
  to: number;
  /** How far the monotonic clock and the wall clock are ahead, in ms. The wall clock is set to one value after the other. */
  monotonicAheadMs: number;
  wallAheadMs: readonly number[];
}

const ADDED_ONE_BY_ONE = 3;
const CLOCK_IS_SET_EVERY_MS = 700;

const { name, service, store, from, to, monotonicAheadMs, wallAheadMs, ...options }: WorkerOptions = JSON.parse(
  process.argv[2] ?? "{}",
);
const [monotonicNow, wallNow] = [performance.now.bind(performance), Date.now];
performance.now = () => monotonicNow() + monotonicAheadMs;
Date.now = () =>
  wallNow() + (wallAheadMs[Math.floor(monotonicNow() / CLOCK_IS_SET_EVERY_MS) % wallAheadMs.length] ?? 0);
const client = new InventoryClient({
  ...service,
  headers: { "x-sender": name },
  rateLimit: false,
  timeoutMs: 400,
  retry: { maxRetries: 1, minDelayMs: 10, maxDelayMs: 20, rateLimitDelayMs: [50, 100] },
});
const outbox = createOutbox({ client, store: storeAt(store), ...options });

process.send?.({ isStarted: true });
const entries = Array.from({ length: to - from }, (_, index) => entryAt(from + index));
const few = entries.splice(0, ADDED_ONE_BY_ONE);
await outbox.addMany(entries);
process.send?.({ added: entries.map(({ key }) => key) });
for (const entry of few) {
  await outbox.add(entry);
  process.send?.({ added: [entry.key] });
}
for (;;) {
  try {
    await outbox.run({ concurrency: 3 });
  } catch {
    // The next run continues the work.
  }
  process.send?.({});
  await sleep(50);
}
