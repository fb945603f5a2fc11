import Bottleneck from "bottleneck";
import { createBottleneckRateLimiter } from "../../src/bottleneck/index.js";
import { InventoryClient } from "../../src/index.js";

// Program that makes calls and does not close its client. Tests run it as a separate process.
const [baseUrl, what] = process.argv.slice(2);
const client = new InventoryClient({
  ...(baseUrl === undefined ? {} : { baseUrl }),
  clientId: "scanner",
  clientSecret: "canary-secret-0123456789abcdef",
  // These pauses are much longer than a test waits for the end of this process.
  retry: { rateLimitDelayMs: [1_800_000, 3_600_000] },
  totalTimeoutMs: 3_600_000,
  ...(what === "fetch" ? { fetch: globalThis.fetch } : {}),
  ...(what === "bottleneck" ? { rateLimiter: createBottleneckRateLimiter(new Bottleneck({ maxConcurrent: 1 })) } : {}),
});

if (what === "loop") {
  for await (const lot of client.inventory.listLots({ pageSize: 10 })) {
    console.log(lot.recNo);
    break;
  }
} else if (what === "pause") {
  // The process must not stay alive for the pause after this 429.
  await client.items.get("BOLT", { retry: false }).catch((error: Error) => console.log(error.name));
} else if (what === "abort") {
  await client.items.get("BOLT", { signal: AbortSignal.timeout(200) }).catch((error: Error) => console.log(error.name));
} else if (what === "failure") {
  await client.items.get("BOLT").catch((error: Error) => console.log(error.name, error.message));
} else {
  console.log((await client.items.get("BOLT")).shortID);
}
