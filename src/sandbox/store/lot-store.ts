import { type Lot, lotSchema } from "../../schemas/lot.js";
import { parseIsoTime } from "../time.js";
import { JsonCache } from "./json-cache.js";
import { RecordIndex } from "./record-index.js";
import { IndexesByWarehouseScope, type WarehouseScope } from "./scopes.js";

/** The fields of a lot that sorting, filtering and totals need: cheap to generate for a million lots. */
export interface LotSummary {
  readonly partNo: number;
  readonly wID: number;
  readonly units: number;
  readonly hold: boolean;
  /** In stock: active and not shipped. */
  readonly open: boolean;
  /** Milliseconds since the epoch; never less than that of the lot before. */
  readonly receivedAt: number;
  readonly modifiedAt: number;
}

/** Lots that are generated when they are read. */
export interface LotGenerator {
  readonly firstRecNo: number;
  readonly count: number;
  summary(recNo: number): LotSummary;
  lot(recNo: number): Lot;
}

/** For when there are no generated lots. */
export const EMPTY_LOT_GENERATOR: LotGenerator = {
  firstRecNo: 100_001,
  count: 0,
  summary: () => {
    throw new RangeError("There are no generated lots.");
  },
  lot: () => {
    throw new RangeError("There are no generated lots.");
  },
};

/** A lot of the caller's, a received one, or one that has changed since it was generated. */
interface StoredLot {
  lot: Lot;
  modifiedAt: number;
  receivedAt: number;
}

/** Every receive record, in stock or shipped. Generated lots are created when they are read. */
export class LotStore {
  private readonly stored = new Map<number, StoredLot>();
  private readonly jsonCache = new JsonCache();
  private readonly descriptions = new Map<number, string>();
  private readonly indexes: IndexesByWarehouseScope<keyof Lot>;
  private readonly read = (recNo: number) => this.get(recNo);
  private nextRecNo: number;

  constructor(
    private readonly generator: LotGenerator,
    own: readonly Lot[],
  ) {
    this.nextRecNo = own.length > 0 ? 1 : generator.firstRecNo + generator.count;
    for (const lot of own) this.store(lot, undefined);
    this.indexes = new IndexesByWarehouseScope((scope) => this.createIndex(scope));
  }

  /** The lots of these warehouses. */
  index(scope: WarehouseScope): RecordIndex<keyof Lot> {
    return this.indexes.get(scope);
  }

  has(recNo: number): boolean {
    return this.stored.has(recNo) || this.isGenerated(recNo);
  }

  get(recNo: number): Lot {
    const lot = this.stored.get(recNo)?.lot ?? this.generator.lot(recNo);
    const description = this.descriptions.get(lot.partNo);
    return description === undefined ? lot : { ...lot, description };
  }

  /** The lot's JSON as bytes. */
  toJson(recNo: number): Uint8Array {
    return this.jsonCache.get(recNo, this.read);
  }

  /** What sorting and totals need, without generating the whole lot. */
  summary(recNo: number): LotSummary {
    const stored = this.stored.get(recNo);
    if (!stored) return this.generator.summary(recNo);
    const { lot, receivedAt, modifiedAt } = stored;
    const { partNo, wID, units, hold } = lot;
    return { partNo, wID, units, hold, open: isOpenLot(lot), receivedAt, modifiedAt };
  }

  /** Every record number, oldest receipt first. */
  recNosByAge(): number[] {
    const ids: number[] = [];
    for (let index = 0; index < this.generator.count; index += 1) ids.push(this.generator.firstRecNo + index);
    const others = [...this.stored.keys()].filter((recNo) => !this.isGenerated(recNo));
    if (others.length === 0) return ids;
    const keyed = ids.concat(others).map((recNo) => ({ recNo, at: this.summary(recNo).receivedAt }));
    return keyed.sort((a, b) => a.at - b.at || a.recNo - b.recNo).map(({ recNo }) => recNo);
  }

  /** Adds a lot under the next record number; its own is ignored. */
  add(lot: Lot, now: number): Lot {
    const added = { ...lot, recNo: this.nextRecNo };
    this.store(added, now);
    this.indexes.forEachShowing(lot.wID, (index) => index.add(added.recNo));
    return added;
  }

  change(recNo: number, changes: Partial<Lot>, now: number): Lot {
    const lot = this.get(recNo);
    const changed = { ...lot, ...changes };
    this.indexes.forEachShowing(lot.wID, (index) => index.remove(recNo));
    this.store(changed, now);
    this.indexes.forEachShowing(changed.wID, (index) => index.add(recNo));
    return changed;
  }

  /** Sets the description that all lots of an item show. */
  setDescription(partNo: number, description: string): void {
    this.descriptions.set(partNo, description);
    this.jsonCache.clear();
    for (const index of this.indexes.all()) index.dropOrder("description");
  }

  private store(lot: Lot, now: number | undefined): void {
    const receivedAt = parseIsoTime(lot.received) ?? 0;
    const modifiedAt = now ?? (lot.shipped === null ? receivedAt : (parseIsoTime(lot.shipped) ?? receivedAt));
    this.stored.set(lot.recNo, { lot, receivedAt, modifiedAt });
    this.jsonCache.delete(lot.recNo);
    this.nextRecNo = Math.max(this.nextRecNo, lot.recNo + 1);
  }

  private isGenerated(recNo: number): boolean {
    const index = recNo - this.generator.firstRecNo;
    return Number.isInteger(index) && index >= 0 && index < this.generator.count;
  }

  private createIndex(scope: ReadonlySet<number>): RecordIndex<keyof Lot> {
    return new RecordIndex({
      defaultColumn: "received",
      columns: lotSchema().keyof().options,
      ids: () => this.recNosByAge().filter((recNo) => scope.has(this.summary(recNo).wID)),
      key: (recNo, column) => {
        if (column === "recNo") return recNo;
        if (column === "received") return this.summary(recNo).receivedAt;
        return this.get(recNo)[column];
      },
      modifiedAt: (recNo) => this.summary(recNo).modifiedAt,
    });
  }
}

/** In stock: active and not shipped. */
export function isOpenLot({ active, shipped }: Pick<Lot, "active" | "shipped">): boolean {
  return active && shipped === null;
}
