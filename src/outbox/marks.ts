import { createHash } from "node:crypto";
import { fieldOf } from "../errors/unknown-value.js";
import { RECEIPT_MARK } from "../resources/find/find-receipt.js";

/** The field of a receipt that carries its mark. */
export type MarkField = "remark" | "serial";

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const MARK_LENGTH = 16;

/** The mark of a receipt: the same for the same store and key, and different from that of any other. */
export function markOf(storeId: string, key: string): string {
  const hash = createHash("sha256").update(`${storeId}\n${key}`).digest("hex");
  let bits = BigInt(`0x${hash}`) >> BigInt(256 - 5 * MARK_LENGTH);
  let token = "";
  for (; token.length < MARK_LENGTH; bits >>= 5n) token = BASE32.charAt(Number(bits & 31n)) + token;
  return `[sl:${token}]`;
}

/** A receipt with its mark: in front of the remark, or as the serial unless there is one already. */
export function withMark(receipt: object, field: MarkField, mark: string): object {
  const current = String(fieldOf(receipt, field) ?? "");
  if (field === "serial") return current.trim() === "" ? { ...receipt, serial: mark } : receipt;
  return { ...receipt, remark: current === "" ? mark : `${mark} ${current}` };
}

/** Whether a receipt has this mark. */
export const hasMark = (receipt: object, mark: string): boolean =>
  ["remark", "serial"].some((field) => String(fieldOf(receipt, field) ?? "").startsWith(mark));

/** The mark that a receipt was sent with, whatever store and key it is of. */
export function markTokenIn(body: unknown): string | undefined {
  const pattern = new RegExp(`^${RECEIPT_MARK.source}`, "i");
  return ["remark", "serial"].flatMap((field) => pattern.exec(String(fieldOf(body, field) ?? ""))?.[0] ?? [])[0];
}

/**
 * Removes the mark of an outbox from a remark, for reports.
 *
 * @example
 * import { withoutMark } from "stocklot/outbox";
 *
 * for await (const lot of client.inventory.listLots({ wid: 3 })) console.log(lot.recNo, withoutMark(lot.remark));
 */
export function withoutMark(remark: string): string {
  return remark.replace(new RegExp(`^${RECEIPT_MARK.source} ?`, "i"), "");
}
