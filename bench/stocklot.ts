import type { ClientOptions, InventoryClient } from "stocklot";
import { BUILT_PACKAGE } from "./paths.js";

/** A limit that the client tracks but never reaches. */
export const FREE_SLOTS = { requests: 10_000_000, intervalMs: 60_000 };

/** Creates a client of the built package with the default options, except that its limit is never reached. */
export async function openClient(baseUrl: string, options: ClientOptions = {}): Promise<InventoryClient> {
  const built = (await import(new URL("index.js", BUILT_PACKAGE).href)) as typeof import("stocklot");
  return new built.InventoryClient({
    baseUrl,
    clientId: "bench",
    clientSecret: "bench-secret-0123456789",
    ...(options.rateLimiter ? {} : { rateLimit: FREE_SLOTS }),
    ...options,
  });
}
