import { Cluster, Redis } from "ioredis";
import { createRedisRateLimiter, createRedisTokenStore } from "stocklot/redis";
import { afterAll, describe, expect, test } from "vitest";
import { ask, duration, newKey } from "./support/limiters.js";
import { findOwnRedis } from "./support/redis-server.js";

const server = await findOwnRedis(["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"]);
afterAll(() => server?.close());

const LAST_SLOT = 16_383;

/** Makes a cluster of the one server: it has all hash slots. */
async function makeCluster(url: string): Promise<Cluster> {
  const redis = new Redis(url);
  try {
    await redis.call("CLUSTER", "ADDSLOTSRANGE", "0", String(LAST_SLOT));
    await expect.poll(() => redis.call("CLUSTER", "INFO"), { timeout: 10_000 }).toContain("cluster_state:ok");
  } finally {
    redis.disconnect();
  }
  return new Cluster([url]);
}

describe.skipIf(!server)("on Redis Cluster", () => {
  test("limit and token are shared, since all keys are on one node", async () => {
    const redis = await makeCluster(server?.url ?? "");
    try {
      const key = newKey();
      const options = { redis, key, requests: 1, reserved: 0, intervalMs: 500 };
      const [first, second] = [createRedisRateLimiter(options), createRedisRateLimiter(options)];
      (await ask(first)).end(true);
      expect(await duration(ask(second))).toBeGreaterThan(400);
      const [writer, reader] = [createRedisTokenStore({ redis, key }), createRedisTokenStore({ redis, key })];
      await writer.set({ accessToken: "a-token", expiresAt: Date.now() + 60_000 });
      expect((await reader.get())?.accessToken).toBe("a-token");
      const keys = await Promise.all(redis.nodes("master").map((node) => node.keys("*")));
      const slots = await Promise.all(keys.flat().map((name) => redis.cluster("KEYSLOT", name)));
      expect(keys.flat()).toHaveLength(3);
      expect(new Set(slots).size).toBe(1);
    } finally {
      redis.disconnect();
    }
  });
});
