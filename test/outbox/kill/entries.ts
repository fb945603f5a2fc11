import type { OutboxEntryInput } from "../../../src/outbox/index.js";

const NAMES = ["BOLT", "NUT", "WASHER", "SCREW", "CABLE", "PAINT"] as const;

/** This many consecutive entries share six items. Later entries use other items, which no earlier unknown entry can block. */
const GROUP = 48;

const groupOf = (number: number) => Math.floor(number / GROUP);

/** Returns the items that must exist before the entries up to this number are sent. */
export const itemsUpTo = (number: number): string[] =>
  Array.from({ length: groupOf(number) + 1 }, (_, group) => NAMES.map((name) => `${name}-${group}`)).flat();

/** Returns the entry with this number, the same one in each process. The service gets its key as reference or description. */
export function entryAt(number: number): OutboxEntryInput {
  const key = `k${number}`;
  const itemID = `${NAMES[(number * 7) % NAMES.length]}-${groupOf(number)}`;
  // Many receipts are equal in all fields that a lot shows.
  const quantity = { itemID, units: 1 + (number % 2), wid: 3, reference: key };
  const newItem = `NEW-${Math.floor(number / 30)}`;
  switch (number % 10) {
    case 3:
      return { key, operation: "move", input: { ...quantity, fromSpot: "A-1", toSpot: "B-1" } };
    case 5:
      return { key, operation: "issue", input: { ...quantity, spot: "A-1", reasonCode: 1 } };
    // Three entries create the same item. The service refuses two of them.
    case 6:
      return { key, operation: "create", input: { shortID: newItem, description: key } };
    case 8:
      return { key, operation: "update", input: { shortID: newItem, description: key } };
    default:
      return { key, operation: "receive", input: { ...quantity, reasonCode: 1 } };
  }
}
