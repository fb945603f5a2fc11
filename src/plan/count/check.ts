import { createHash } from "node:crypto";
import type { CountGroup } from "./group.js";

/** Only consonants: a spreadsheet does not take a word of consonants for a number, a date or a truth value. */
const LETTERS = "bcdfghjkmnpqrstvwxz";
const LENGTH = 5;

/**
 * Returns five letters that depend on item, bin and serial. The sheet shows them in each row. If a spreadsheet rewrites
 * the row (`0017` becomes `17`), the letters no longer fit. A missing bin or serial counts as an empty text.
 */
export function checkOf({ itemID, spot = "", serial = "" }: CountGroup): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([itemID, spot, serial]))
    .digest();
  return Array.from(hash.subarray(0, LENGTH), (byte) => LETTERS.charAt(byte % LETTERS.length)).join("");
}
