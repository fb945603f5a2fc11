import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { type Caller, callerOf } from "./caller.js";

export const NOW = Date.UTC(2025, 6, 1, 12);

/** Creates a sandbox with one item, "A", and returns a caller of it. */
export function open(options: SandboxOptions = {}): Caller {
  const defaults: SandboxOptions = {
    now: () => NOW,
    rateLimit: false,
    items: [{ shortID: "A", description: "Thing" }],
  };
  return callerOf(createSandbox({ ...defaults, ...options }));
}

export const receipt = (units: number, more: object = {}) => ({ itemID: "A", units, wid: 1, reasonCode: 1, ...more });

export const level = async (api: Caller, wid = "") => (await api.get(`/Inventory/StockLevels${wid}`)).body.value[0];
