import { ApiError, type ClientOptions, InventoryClient, type Lot, parseServiceDate } from "stocklot";
import { createMirror, type MirrorSink, postgresSink, sqliteSink } from "stocklot/mirror";
import type { RedisClient } from "stocklot/redis";
import { createRedisRateLimiter } from "stocklot/redis";
import { createSandbox, type SandboxOptions } from "stocklot/sandbox";

const sandboxOptions: SandboxOptions = { items: 20, lots: 300 };
const sandbox = createSandbox(sandboxOptions);
const options: ClientOptions = { baseUrl: sandbox.baseUrl, ...sandbox.credentials, fetch: sandbox.fetch };
const client = new InventoryClient(options);

export const lots: Promise<Lot[]> = client.inventory.listLots({ wid: 3, modifiedSince: new Date(0) }).toArray();
export const received: Date[] = (await lots).map((lot) => parseServiceDate(lot.received));
export const statusOf = (error: unknown): number | undefined => (ApiError.is(error) ? error.status : undefined);
export const shared = (redis: RedisClient) => new InventoryClient({ rateLimiter: createRedisRateLimiter({ redis }) });
export const sinks: MirrorSink[] = [
  sqliteSink({ path: "stock.db" }),
  postgresSink({ connectionString: "postgres://localhost" }),
];
export const mirrors = sinks.map((sink) => createMirror({ client, sink, resources: ["lots"] }));
export const copied = async (): Promise<number> => (await mirrors[0]?.run())?.added ?? 0;
export const later = () => import("stocklot/bottleneck").then((entry) => entry.createBottleneckRateLimiter);

// @ts-expect-error a warehouse ID is a number
client.inventory.listLots({ wid: "3" });
// @ts-expect-error a receipt has a reason
export const unreasoned = () => client.inventory.receive({ itemID: "BOLT-M8", units: 50, wid: 3 });

await client.close();
