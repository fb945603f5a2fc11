import type { Lot } from "../../schemas/lot.js";
import { parseTime } from "../clock.js";
import type { LotFacts, LotSource } from "../data/lot-source.js";
import { Listing } from "./listing.js";
import { lotColumns, lotKey } from "./lot-columns.js";
import { RecordBytes } from "./record-bytes.js";
import { ScopedListings } from "./scoped-listings.js";
import type { Scope } from "./scopes.js";

/** A lot that was given by the caller, received, or changed since it was generated. */
interface Kept {
  lot: Lot;
  modifiedAt: number;
  receivedAt: number;
}

/** Every receive record, in stock or shipped. Generated lots are made when somebody looks at them. */
export class LotLedger {
  private readonly kept = new Map<number, Kept>();
  private readonly json = new RecordBytes();
  private readonly descriptions = new Map<number, string>();
  private readonly listings: ScopedListings;
  private readonly read = (recNo: number) => this.get(recNo);
  private nextRecNo: number;

  constructor(
    private readonly generated: LotSource,
    own: readonly Lot[],
  ) {
    this.nextRecNo = own.length > 0 ? 1 : generated.firstRecNo + generated.count;
    for (const lot of own) this.keep(lot, undefined);
    this.listings = new ScopedListings((scope) => this.listingOf(scope));
  }

  /** The lots of these warehouses. */
  listing(scope: Scope): Listing {
    return this.listings.of(scope);
  }

  has(recNo: number): boolean {
    return this.kept.has(recNo) || this.isGenerated(recNo);
  }

  get(recNo: number): Lot {
    const lot = this.kept.get(recNo)?.lot ?? this.generated.lot(recNo);
    const description = this.descriptions.get(lot.partNo);
    return description === undefined ? lot : { ...lot, description };
  }

  /** The lot as the bytes of its JSON. */
  bytes(recNo: number): Buffer {
    return this.json.of(recNo, this.read);
  }

  /** What ordering and adding up need, without making the whole lot. */
  facts(recNo: number): LotFacts {
    const kept = this.kept.get(recNo);
    if (!kept) return this.generated.facts(recNo);
    const { lot, receivedAt, modifiedAt } = kept;
    const { partNo, wID, units, hold } = lot;
    return { partNo, wID, units, hold, open: isOpen(lot), receivedAt, modifiedAt };
  }

  /** Every record number, oldest receipt first. */
  oldestFirst(): number[] {
    const ids: number[] = [];
    for (let index = 0; index < this.generated.count; index += 1) ids.push(this.generated.firstRecNo + index);
    const others = [...this.kept.keys()].filter((recNo) => !this.isGenerated(recNo));
    if (others.length === 0) return ids;
    const keyed = ids.concat(others).map((recNo) => ({ recNo, at: this.facts(recNo).receivedAt }));
    return keyed.sort((a, b) => a.at - b.at || a.recNo - b.recNo).map(({ recNo }) => recNo);
  }

  /** Adds a lot under the next record number, whatever its own says. */
  add(lot: Lot, now: number): Lot {
    const added = { ...lot, recNo: this.nextRecNo };
    this.keep(added, now);
    this.listings.each(lot.wID, (listing) => listing.add(added.recNo));
    return added;
  }

  change(recNo: number, changes: Partial<Lot>, now: number): Lot {
    const lot = this.get(recNo);
    const changed = { ...lot, ...changes };
    this.listings.each(lot.wID, (listing) => listing.drop(recNo));
    this.keep(changed, now);
    this.listings.each(changed.wID, (listing) => listing.add(recNo));
    return changed;
  }

  /** Shows an item's new description in all its lots: it belongs to the item. */
  redescribe(partNo: number, description: string): void {
    this.descriptions.set(partNo, description);
    this.json.clear();
    this.listings.all((listing) => listing.forget("description"));
  }

  private keep(lot: Lot, now: number | undefined): void {
    const receivedAt = parseTime(lot.received) ?? 0;
    const modifiedAt = now ?? (lot.shipped === null ? receivedAt : (parseTime(lot.shipped) ?? receivedAt));
    this.kept.set(lot.recNo, { lot, receivedAt, modifiedAt });
    this.json.forget(lot.recNo);
    this.nextRecNo = Math.max(this.nextRecNo, lot.recNo + 1);
  }

  private isGenerated(recNo: number): boolean {
    const index = recNo - this.generated.firstRecNo;
    return Number.isInteger(index) && index >= 0 && index < this.generated.count;
  }

  private listingOf(scope: ReadonlySet<number>): Listing {
    return new Listing({
      defaultColumn: "received",
      columns: lotColumns,
      ids: () => this.oldestFirst().filter((recNo) => scope.has(this.facts(recNo).wID)),
      key: (recNo, column) => {
        if (column === "recNo") return recNo;
        if (column === "received") return this.facts(recNo).receivedAt;
        return lotKey(this.get(recNo), column);
      },
      modifiedAt: (recNo) => this.facts(recNo).modifiedAt,
    });
  }
}

/** In stock: active and not shipped. */
export function isOpen({ active, shipped }: Pick<Lot, "active" | "shipped">): boolean {
  return active && shipped === null;
}
