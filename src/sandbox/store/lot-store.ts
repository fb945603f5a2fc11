import { type Lot, lotSchema } from "../../service/lot.js";
import { parseIsoTime } from "../time.js";
import { SortedRecords } from "./sorted-records.js";

/** A receive record, and what the service stores about it but does not show. Times in milliseconds since the epoch. */
export interface StoredLot {
  /** Replaced, never changed. */
  lot: Lot;
  readonly receivedAt: number;
  modifiedAt: number;
}

/** The record number of the first lot, if the caller's data name none. */
export const FIRST_REC_NO = 100_001;

/** Every receive record, in stock or shipped. */
export class LotStore {
  readonly records: SortedRecords<StoredLot, keyof Lot>;
  readonly #byRecNo: Map<number, StoredLot>;
  #nextRecNo: number;

  constructor(lots: readonly StoredLot[]) {
    this.#byRecNo = new Map(lots.map((stored) => [stored.lot.recNo, stored]));
    this.#nextRecNo = lots.length === 0 ? FIRST_REC_NO : 1 + lots.reduce((max, { lot }) => Math.max(max, lot.recNo), 0);
    this.records = new SortedRecords([...lots], {
      columns: lotSchema().keyof().options,
      defaultColumn: "received",
      key: ({ lot, receivedAt }, column) => (column === "received" ? receivedAt : lot[column]),
      id: ({ lot }) => lot.recNo,
    });
  }

  /** Lots of the item that are in stock in the warehouse, oldest first. */
  openLots(partNo: number, wID: number): Lot[] {
    return this.records
      .ascending()
      .filter(({ lot }) => lot.partNo === partNo && lot.wID === wID && isOpenLot(lot))
      .map(({ lot }) => lot);
  }

  /** Adds a lot under the next record number; its own is ignored. */
  add(lot: Lot, now: number): Lot {
    const stored = { lot: { ...lot, recNo: this.#nextRecNo++ }, receivedAt: receivedTime(lot), modifiedAt: now };
    this.#byRecNo.set(stored.lot.recNo, stored);
    this.records.markChanged(stored);
    return stored.lot;
  }

  change(lot: Lot, changes: Partial<Lot>, now: number): Lot {
    const changed = { ...lot, ...changes };
    const stored = this.#byRecNo.get(lot.recNo);
    if (stored) Object.assign(stored, { lot: changed, modifiedAt: now });
    this.records.markChanged();
    return changed;
  }

  /** Sets the description that all lots of an item show. That does not count as a change of the lots. */
  setDescription(partNo: number, description: string): void {
    for (const stored of this.#byRecNo.values()) {
      if (stored.lot.partNo === partNo) stored.lot = { ...stored.lot, description };
    }
    this.records.markChanged();
  }
}

/** A lot that the sandbox starts with: it was last changed when it was shipped or, if it is in stock, received. */
export function toStoredLot(lot: Lot): StoredLot {
  const receivedAt = receivedTime(lot);
  return { lot, receivedAt, modifiedAt: parseIsoTime(lot.shipped ?? lot.received) ?? receivedAt };
}

export function isOpenLot({ active, shipped }: Pick<Lot, "active" | "shipped">): boolean {
  return active && shipped === null;
}

function receivedTime({ received }: Lot): number {
  return parseIsoTime(received) ?? 0;
}
