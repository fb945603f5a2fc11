import { createHash } from "node:crypto";
import type { CountGroup } from "./group.js";

/** Consonants only: a spreadsheet takes no such word for a number, a date or a truth value. */
const LETTERS = "bcdfghjkmnpqrstvwxz";
const LENGTH = 5;

/**
 * A few letters from item, bin and serial. They stand in the sheet beside the row, so that a row that a spreadsheet has
 * rewritten (`0017` becomes `17`) no longer has its own. A missing bin or serial counts as an empty one.
 */
export function checkOf({ itemID, spot = "", serial = "" }: CountGroup): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([itemID, spot, serial]))
    .digest();
  return Array.from(hash.subarray(0, LENGTH), (byte) => LETTERS.charAt(byte % LETTERS.length)).join("");
}

/** Letters as a person or a spreadsheet may have changed them. */
export const isSameCheck = (one: string, other: string): boolean =>
  one.trim().toLowerCase() === other.trim().toLowerCase();
