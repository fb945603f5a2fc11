import bottleneck = require("stocklot/bottleneck");
import redis = require("stocklot/redis");
import sandbox = require("stocklot/sandbox");
import stocklot = require("stocklot");

const { baseUrl, credentials, fetch } = sandbox.createSandbox({ lots: 300 });
const options: stocklot.ClientOptions = { baseUrl, ...credentials, fetch };
const client = new stocklot.InventoryClient(options);

const lots: Promise<stocklot.Lot[]> = client.inventory.listLots({ wid: 3 }).toArray();
const isMissing = (error: unknown): boolean => error instanceof stocklot.NotFoundError && error.status === 404;
const limiters = [redis.createRedisRateLimiter, bottleneck.createBottleneckRateLimiter];
const later = async () => (await import("stocklot")).parseServiceDate("2026-01-31");

// @ts-expect-error a warehouse ID is a number
client.inventory.listLots({ wid: "3" });

export = { client, lots, isMissing, limiters, later };
