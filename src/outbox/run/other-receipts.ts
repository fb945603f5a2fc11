import { fieldOf } from "../../errors/unknown-value.js";
import type { OtherReceipts } from "../../resources/find/find-receipt.js";
import type { SentReceipt } from "../../resources/find/sent-request.js";
import { inBatches } from "../in-batches.js";
import { hasMark, markOf } from "../marks.js";
import type { OutboxStore, StoredEntry } from "../store.js";

/** Entries before and after this one by which the dates of lots are compared with the times of requests. */
const NEIGHBOURS = 500;

/** What the outbox knows about the other receipts of an entry's item, and about the lots of those added at the same time. */
export async function otherReceipts(
  { store, storeId }: { store: OutboxStore; storeId: string },
  { key, lane, sequence }: StoredEntry,
  { serial, rfidTag }: SentReceipt["body"],
): Promise<OtherReceipts> {
  const recNos = new Map<number, number | undefined>();
  const marks: string[] = [];
  let withSameSerial = false;
  const neighbours = await store.list({
    state: "applied",
    after: Math.max(0, sequence - NEIGHBOURS),
    limit: 2 * NEIGHBOURS,
  });
  for (const other of neighbours) addLot(recNos, other);
  for await (const other of inBatches((page) => store.list({ lane, ...page }))) {
    if (other.operation !== "receive" || other.key === key) continue;
    const mark = markOf(storeId, other.key);
    if (hasMark(Object(JSON.parse(other.body ?? "{}")), mark)) marks.push(mark);
    if (other.state !== "applied") continue;
    if (!addLot(recNos, other)) withSameSerial ||= isSameSerial(other, { serial, rfidTag });
  }
  return { recNos, marks, withSameSerial };
}

/** Returns false if the number of the receipt's lot is not known. */
function addLot(recNos: Map<number, number | undefined>, entry: StoredEntry): boolean {
  const recNo = entry.operation === "receive" ? fieldOf(JSON.parse(entry.result ?? "null"), "recNo") : undefined;
  if (typeof recNo !== "number") return false;
  recNos.set(recNo, sentAtByService(entry));
  return true;
}

const sentAtByService = ({ sentAt, clockAheadMs }: StoredEntry) =>
  sentAt === null || clockAheadMs === null ? undefined : sentAt + clockAheadMs;

function isSameSerial({ input }: StoredEntry, { serial, rfidTag }: Pick<SentReceipt["body"], "serial" | "rfidTag">) {
  const other: unknown = JSON.parse(input ?? "null");
  const isSame = (name: string, value: string | undefined) =>
    value !== undefined && String(fieldOf(other, name) ?? "").trim() === value.trim();
  return isSame("serial", serial) || isSame("rfidTag", rfidTag);
}
