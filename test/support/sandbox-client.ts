import { type ClientOptions, InventoryClient } from "../../src/index.js";
import { createSandbox, type SandboxOptions } from "../../src/sandbox/index.js";

export const SECRET = "a-very-secret-secret";

/** A client of a small sandbox, with short delays. */
export function sandboxClient(options: ClientOptions = {}, service: SandboxOptions = {}) {
  const clients = [{ clientId: "acme", clientSecret: SECRET }];
  const sandbox = createSandbox({ items: 3, lots: 10, clients, ...service });
  const client = new InventoryClient({
    baseUrl: sandbox.baseUrl,
    clientId: "acme",
    clientSecret: SECRET,
    fetch: sandbox.fetch,
    retry: { minDelayMs: 1, maxDelayMs: 2, rateLimitDelayMs: [1, 2] },
    ...options,
  });
  return { sandbox, client };
}
