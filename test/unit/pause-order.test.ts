import { expect, it, vi } from "vitest";
import { InventoryClient } from "../../src/index.js";

it("a 429 begins its pause before its slot is returned: no waiting call takes the slot", async () => {
  const sent: string[] = [];
  const client = new InventoryClient({
    baseUrl: "https://inventory.test/api/v1",
    clientId: "scanner",
    clientSecret: "secret-of-the-scanner",
    rateLimit: { maxConcurrent: 1 },
    retry: { rateLimitDelayMs: [600_000, 600_000] },
    fetch: async (url) => {
      sent.push(url);
      if (url.endsWith("/Token")) return Response.json({ access_token: "token-0123456789", expires_in: 3_600 });
      return Response.json({ message: "too many" }, { status: 429 });
    },
  });
  const calls = ["A", "B", "C"].map((shortID) => client.items.get(shortID).catch((error: unknown) => error));
  await vi.waitUntil(() => client.rateLimit.pausedUntil !== null);
  // Turns of the event loop in which a slot that was granted would be used.
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(sent.filter((url) => !url.endsWith("/Token"))).toHaveLength(1);
  expect(client.rateLimit).toMatchObject({ inFlight: 0, queued: 3 });
  await client.close();
  await Promise.all(calls);
});
