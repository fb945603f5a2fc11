import type { ClientOptions, InventoryClient } from "stocklot";
import { BUILT_PACKAGE } from "./paths.js";

/** A limit that is tracked and never reached. */
export const FREE_SLOTS = { requests: 10_000_000, intervalMs: 60_000 };

/** A client of the built package, with everything on by default. */
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
