import { fieldOf } from "../../errors/unknown-value.js";
import type { SentReceipt } from "../../resources/find/sent-request.js";
import type { OutboxStore, StoredEntry } from "../store.js";

const BATCH = 500;

/** What the outbox knows of other receipts of the same item. */
export interface OtherReceipts {
  /** The numbers of their lots. */
  known: ReadonlySet<number>;
  /** Whether one whose lot is not known has the same serial or RFID tag. */
  withSameSerial: boolean;
}

/** Reads the other receipts of an entry's item that were applied. */
export async function otherReceipts(
  store: OutboxStore,
  entry: StoredEntry,
  { serial, rfidTag }: SentReceipt["body"],
): Promise<OtherReceipts> {
  const known = new Set<number>();
  let withSameSerial = false;
  for (let after = 0; ; ) {
    const batch = await store.list({ state: "applied", item: entry.item, after, limit: BATCH });
    for (const other of batch) {
      after = other.sequence;
      if (other.operation !== "receive" || other.item !== entry.item || other.key === entry.key) continue;
      const recNo = fieldOf(JSON.parse(other.result ?? "null"), "recNo");
      if (typeof recNo === "number") known.add(recNo);
      else withSameSerial ||= isSameSerial(other, { serial, rfidTag });
    }
    if (batch.length < BATCH) return { known, withSameSerial };
  }
}

function isSameSerial({ input }: StoredEntry, { serial, rfidTag }: Pick<SentReceipt["body"], "serial" | "rfidTag">) {
  const other: unknown = JSON.parse(input ?? "null");
  const isSame = (name: string, value: string | undefined) =>
    value !== undefined && String(fieldOf(other, name) ?? "").trim() === value.trim();
  return isSame("serial", serial) || isSame("rfidTag", rfidTag);
}
