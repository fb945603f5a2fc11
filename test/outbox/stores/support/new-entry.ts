import type { NewEntry } from "../../../../src/outbox/store.js";

/** A receipt of one unit. */
export const newEntry = (key: string, lane = "bolt-m8", changes: Partial<NewEntry> = {}): NewEntry => ({
  key,
  operation: "receive",
  lane,
  input: JSON.stringify({ itemID: lane, units: 1, wid: 3, reasonCode: 1 }),
  inputHash: `hash of ${key}`,
  addedAt: 1_700_000_000_000,
  ...changes,
});
