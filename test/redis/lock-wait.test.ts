import { InventoryClient } from "stocklot";
import { createRedisTokenStore, type RedisClient } from "stocklot/redis";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** As much of Redis as the scripts of the token store need, by the clock of the test. */
function memoryRedis(): RedisClient {
  const values = new Map<string, { value: string; expiresAt: number }>();
  const read = (key: string) => {
    const stored = values.get(key);
    return stored && stored.expiresAt > Date.now() ? stored : undefined;
  };
  const write = (key: string, value: string, ttlMs: string) => {
    values.set(key, { value, expiresAt: Date.now() + Number(ttlMs) });
    return 1;
  };
  return {
    evalsha: () => Promise.reject(new Error("NOSCRIPT")),
    async eval(script, _, key = "", value = "", ttlMs = "") {
      const stored = read(key);
      const remainingMs = stored ? stored.expiresAt - Date.now() : -2;
      if (script.includes("'NX'")) return stored ? [0, remainingMs] : [write(key, value, ttlMs), 0];
      if (script.includes("'PEXPIRE'")) return stored?.value === value ? write(key, value, ttlMs) : 0;
      if (script.includes("'DEL'")) return stored?.value.startsWith(value) ? Number(values.delete(key)) : 0;
      if (script.includes("'SET'")) return write(key, value, ttlMs);
      return [stored?.value ?? null, remainingMs];
    },
  };
}

test("three processes send one token request, also if its 429 asks for a pause of 150 s", async () => {
  const redis = memoryRedis();
  const statuses: number[] = [];
  const warnings: string[] = [];
  const quiet = () => {};
  const processes = [1, 2, 3].map(
    () =>
      new InventoryClient({
        baseUrl: "https://inventory.test/api/v1",
        clientId: "scanner",
        clientSecret: "canary-secret-0123456789",
        tokenStore: createRedisTokenStore({ redis }),
        logger: { debug: quiet, info: quiet, warn: (line) => void warnings.push(line), error: quiet },
        fetch: async (url) => {
          if (!url.endsWith("/Token")) return Response.json({});
          statuses.push(statuses.length === 0 ? 429 : 200);
          return statuses.length === 1
            ? Response.json({ message: "Rate Limit Exceeded." }, { status: 429, headers: { "retry-after": "150" } })
            : Response.json({ access_token: `token-${statuses.length}`, expires_in: 3_600 });
        },
      }),
  );
  const calls = Promise.all(processes.map((client) => client.request({ method: "GET", path: "/Ping" })));
  await vi.advanceTimersByTimeAsync(200_000);
  await calls;
  expect(statuses).toEqual([429, 200]);
  expect(warnings).toEqual([expect.stringContaining("429, all requests pause for 150 s")]);
});
