import { fieldOf } from "../../errors/unknown-value.js";
import type { OtherReceipts } from "../../resources/find/find-receipt.js";
import type { SentReceipt } from "../../resources/find/sent-request.js";
import { markIn, markOf } from "../marks.js";
import type { OutboxStore, StoredEntry } from "../store.js";

const BATCH = 500;

/** What the outbox knows about the other receipts of an entry's item. */
export async function otherReceipts(
  { store, storeId }: { store: OutboxStore; storeId: string },
  { key, item }: StoredEntry,
  { serial, rfidTag }: SentReceipt["body"],
): Promise<OtherReceipts> {
  const recNos = new Map<number, number | undefined>();
  const marks: string[] = [];
  let withSameSerial = false;
  for (let after = 0; ; ) {
    const batch = await store.list({ item, after, limit: BATCH });
    for (const other of batch) {
      after = other.sequence;
      if (other.operation !== "receive" || other.item !== item || other.key === key) continue;
      const mark = markIn(Object(JSON.parse(other.body ?? "{}")), markOf(storeId, other.key));
      if (mark !== undefined) marks.push(mark);
      if (other.state !== "applied") continue;
      const recNo = fieldOf(JSON.parse(other.result ?? "null"), "recNo");
      if (typeof recNo === "number") recNos.set(recNo, sentAtByService(other));
      else withSameSerial ||= isSameSerial(other, { serial, rfidTag });
    }
    if (batch.length < BATCH) return { recNos, marks, withSameSerial };
  }
}

const sentAtByService = ({ sentAt, clockAheadMs }: StoredEntry) =>
  sentAt === null || clockAheadMs === null ? undefined : sentAt + clockAheadMs;

function isSameSerial({ input }: StoredEntry, { serial, rfidTag }: Pick<SentReceipt["body"], "serial" | "rfidTag">) {
  const other: unknown = JSON.parse(input ?? "null");
  const isSame = (name: string, value: string | undefined) =>
    value !== undefined && String(fieldOf(other, name) ?? "").trim() === value.trim();
  return isSame("serial", serial) || isSame("rfidTag", rfidTag);
}
