import { InventoryClient } from "../../src/index.js";

// Runs as a separate process: makes calls and does not close the client.
const [baseUrl, what] = process.argv.slice(2);
const client = new InventoryClient({
  ...(baseUrl === undefined ? {} : { baseUrl }),
  clientId: "scanner",
  clientSecret: "canary-secret-0123456789abcdef",
  retry: { rateLimitDelayMs: [30_000, 60_000] },
  totalTimeoutMs: 20_000,
  ...(what === "fetch" ? { fetch: globalThis.fetch } : {}),
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
