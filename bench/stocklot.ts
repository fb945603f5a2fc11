import type { ClientOptions, InventoryClient } from "stocklot";
import { BUILT_PACKAGE } from "./paths.js";

/** The package as it is built, not its sources. */
const { InventoryClient: BuiltClient } = (await import(
  new URL("index.js", BUILT_PACKAGE).href
)) as typeof import("stocklot");

/** A limit that is kept track of and never reached. */
export const FREE_SLOTS = { requests: 10_000_000, intervalMs: 60_000 };

/** A client with everything on, unless told otherwise. */
export function openClient(baseUrl: string, options: ClientOptions = {}): InventoryClient {
  return new BuiltClient({
    baseUrl,
    clientId: "bench",
    clientSecret: "bench-secret-0123456789",
    ...(options.rateLimiter ? {} : { rateLimit: FREE_SLOTS }),
    ...options,
  });
}
