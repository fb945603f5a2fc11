import type { ClientOptions, InventoryClient, Item, Lot, StockLevel } from "../../../src/index.js";
import type { MirrorRecords, MirrorResource, WarehouseStockLevel } from "../../../src/mirror/index.js";
import type { Random } from "../../support/random.js";
import { newItem, newLevel, newLot, pageOf } from "../../support/records.js";
import { errorResponse, type ServiceRequest, type ServiceResponse, SmallService } from "../../support/small-service.js";

/** The effect of `modifiedSince`: a filter by the date of the change, none, a filter by the date of receipt, nothing for any date, or an error. */
export type Filter = "honoured" | "ignored" | "received" | "empty" | "refused" | "fails";

/** The lists that the service keeps. It computes the stock levels of one warehouse from its lots. */
type ListName = Exclude<MirrorResource, "warehouseStockLevels">;

export interface ServiceBehaviour {
  modifiedSince: Record<ListName, Filter>;
  /** Whether lists are in the order of their keys. If not, lots come newest first, and other records in a fixed random order. */
  sorts: boolean;
  /** Whether responses have a `Date` header. */
  hasDateHeader: boolean;
  /** The time of the service's clock at the beginning, in ms. */
  startsAt: number;
  /** A change may be dated up to this long before it is listed, in ms. */
  latenessMs: number;
  /** How far the dates of changes are behind the `Date` header, in ms. */
  modifiedLagMs?: number;
  /** The largest page size. A larger request is silently capped. */
  maxPageSize: number;
  /** Dates of changes are rounded down to a multiple of this, in ms. */
  resolutionMs: number;
}

interface StoredRecord<T> {
  record: T;
  modifiedAt: number;
  receivedAt: number;
}

const HONEST: ServiceBehaviour = {
  modifiedSince: { items: "honoured", lots: "honoured", stockLevels: "honoured" },
  sorts: true,
  hasDateHeader: true,
  startsAt: Date.parse("2026-01-01T00:00:00Z"),
  latenessMs: 0,
  resolutionMs: 1,
  maxPageSize: 250,
};

/**
 * A service whose lists change while they are read. Lots are also removed, dates of changes may be early or rounded, and
 * `modifiedSince` may have any effect.
 */
export class ChangingService extends SmallService {
  /** Called before each page is cut, with the path and query of the request. A number is the status of the response. */
  beforePage: (path: string) => unknown = () => {};
  /** Whether each page of lots is cut from another order, as a database may do if many records have the same sort value. */
  shuffles = false;
  /** Returns whether a lot is counted but not listed. */
  isUnlisted: (lot: Lot) => boolean = () => false;
  readonly #behaviour: ServiceBehaviour;
  readonly #random: Random;
  readonly #items = new Map<number, StoredRecord<Item>>();
  readonly #lots = new Map<number, StoredRecord<Lot>>();
  readonly #levelsModified = new Map<number, number>();
  #isHidden: (lot: Lot) => boolean = () => false;
  #now: number;
  #lastPartNo = 0;
  #lastRecNo = 0;

  constructor(random: Random, behaviour: Partial<ServiceBehaviour> = {}) {
    super();
    this.#random = random;
    this.#behaviour = { ...HONEST, ...behaviour };
    this.#now = this.#behaviour.startsAt;
  }

  override client(options: ClientOptions = {}): InventoryClient {
    // The client does not retry, because the mirror does.
    return super.client({ retry: { maxRetries: 0, minDelayMs: 1 }, ...options });
  }

  /** All records of a resource, as they are now, by key. */
  records<R extends ListName>(resource: R): Map<number | string, MirrorRecords[R]>;
  records(resource: ListName): Map<number | string, Item | Lot | StockLevel> {
    return new Map(this.#stored(resource).map(([key, { record }]) => [key, record]));
  }

  /** Returns the stock levels of these warehouses, by the keys that a copy uses. */
  warehouseLevels(...wIDs: number[]): Map<number | string, WarehouseStockLevel> {
    return new Map(
      wIDs.flatMap((wID) => this.#levels(wID).map(([partNo, { record }]) => [`${wID}/${partNo}`, { ...record, wID }])),
    );
  }

  /** Hides lots, like lots that are outside the scope of a client. */
  hideLots(isHidden: (lot: Lot) => boolean): void {
    this.#isHidden = isHidden;
  }

  /** The time of the service's clock, in ms. */
  get now(): number {
    return this.#now;
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  addItem(): number {
    this.#lastPartNo += 1;
    const partNo = this.#lastPartNo;
    const { modifiedAt, text } = this.#date();
    const record = newItem({
      partNo,
      shortID: `SKU-${partNo}`,
      description: `Item ${partNo}`,
      category: this.#random(5),
      created: text,
      modified: text,
    });
    this.#items.set(partNo, { record, modifiedAt, receivedAt: modifiedAt });
    return partNo;
  }

  changeItem(
    changes: Partial<Item> & { netWeight?: number | undefined; extra?: unknown } = {
      putUp: `Box ${this.#random(1_000)}`,
    },
  ): void {
    const stored = this.#pick(this.#items);
    if (stored === undefined) return;
    const { modifiedAt, text } = this.#date();
    stored.record = { ...stored.record, ...changes, modified: text };
    stored.modifiedAt = modifiedAt;
  }

  /** Changes the description of an item. Its lots show the new description, but do not count as modified. */
  describeItem(): void {
    this.changeItem({ description: `Now ${this.#random(1_000)}` });
  }

  discontinueItem(): void {
    this.changeItem({ discontinued: true });
  }

  override addLot(): Lot {
    const partNo = this.#pick(this.#items)?.record.partNo ?? this.addItem();
    this.#lastRecNo += 1;
    const recNo = this.#lastRecNo;
    const { modifiedAt, text } = this.#date();
    const record = newLot({
      recNo,
      partNo,
      shortID: `SKU-${partNo}`,
      wID: 1 + this.#random(3),
      spot: `A-${this.#random(20)}`,
      units: this.#random(1_000) / 8,
      received: text,
    });
    this.#lots.set(recNo, { record, modifiedAt, receivedAt: modifiedAt });
    this.#levelsModified.set(partNo, modifiedAt);
    return record;
  }

  changeLot(): void {
    const stored = this.#pick(this.#lots);
    if (stored === undefined) return;
    const { modifiedAt } = this.#date();
    stored.record = { ...stored.record, units: this.#random(1_000) / 8, hold: this.#random(2) === 0 };
    stored.modifiedAt = modifiedAt;
    this.#levelsModified.set(stored.record.partNo, modifiedAt);
  }

  removeLot(): void {
    const stored = this.#pick(this.#lots);
    if (stored === undefined) return;
    this.#lots.delete(stored.record.recNo);
    this.#levelsModified.set(stored.record.partNo, this.#date().modifiedAt);
  }

  #pick<T>(from: Map<number, T>): T | undefined {
    const keys = [...from.keys()];
    return from.get(keys[this.#random(keys.length)] ?? -1);
  }

  /** Returns the date of a change that happens now. */
  #date(): { modifiedAt: number; text: string } {
    const { latenessMs, resolutionMs, modifiedLagMs = 0 } = this.#behaviour;
    const dated = this.#now - modifiedLagMs - this.#random(latenessMs + 1);
    const modifiedAt = Math.floor(dated / resolutionMs) * resolutionMs;
    return { modifiedAt, text: new Date(modifiedAt).toISOString() };
  }

  #stored(resource: ListName, wID?: number): [number, StoredRecord<Item | Lot | StockLevel>][] {
    if (resource === "items") return [...this.#items];
    if (resource === "stockLevels") return this.#levels(wID);
    return this.#allLots().filter(([, { record }]) => !this.#isHidden(record));
  }

  #allLots(): [number, StoredRecord<Lot>][] {
    return [...this.#lots].map(([recNo, stored]): [number, StoredRecord<Lot>] => {
      const description = this.#items.get(stored.record.partNo)?.record.description ?? "";
      return [recNo, { ...stored, record: { ...stored.record, description } }];
    });
  }

  #levels(wID: number | undefined): [number, StoredRecord<StockLevel>][] {
    const levels = new Map<number, StoredRecord<StockLevel>>();
    for (const [, { record, receivedAt }] of this.#allLots()) {
      if (wID !== undefined && record.wID !== wID) continue;
      const { partNo, units, hold } = record;
      const level = levels.get(partNo)?.record;
      const inStock = (level?.inStock ?? 0) + units;
      const onHold = (level?.onHold ?? 0) + (hold ? units : 0);
      const modifiedAt = this.#levelsModified.get(partNo) ?? 0;
      levels.set(partNo, {
        modifiedAt,
        receivedAt,
        record: newLevel({ partNo, available: inStock - onHold, inStock, onHold }),
      });
    }
    return [...levels];
  }

  protected override get dateHeader(): number | undefined {
    return this.#behaviour.hasDateHeader ? this.#now : undefined;
  }

  protected override respondAuthorized({ path, query }: ServiceRequest): ServiceResponse {
    const status = this.beforePage(`${path}?${query}`);
    if (typeof status === "number") return errorResponse(status, "planted", "planted");
    const [, list = path, wid] = /^(.*StockLevels)\/(\d+)$/.exec(path) ?? [];
    const resource = LISTS[list];
    if (resource === undefined) return errorResponse(404, "not_found", path);
    const filter = this.#behaviour.modifiedSince[resource];
    if (query.has("modifiedSince") && filter === "refused") return errorResponse(400, "bad_request", "refused");
    if (query.has("modifiedSince") && filter === "fails") return errorResponse(500, "internal_error", "oh");
    return { status: 200, body: this.#page(resource, filter, query, wid === undefined ? undefined : Number(wid)) };
  }

  #page(resource: ListName, filter: Filter, query: URLSearchParams, wID: number | undefined): unknown {
    const since = Date.parse(query.get("modifiedSince") ?? "");
    const stored = this.#stored(resource, wID).filter(([, { modifiedAt, receivedAt }]) => {
      if (Number.isNaN(since)) return true;
      if (filter === "empty") return false;
      return filter === "honoured" ? modifiedAt >= since : filter === "received" ? receivedAt >= since : true;
    });
    const order = this.#behaviour.sorts ? (key: number) => key : resource === "lots" ? (key: number) => -key : shuffled;
    stored.sort(([a], [b]) => order(a) - order(b));
    if (this.shuffles && resource === "lots") {
      const places = new Map(stored.map(([key], index) => [key, index - (index % TIED) + this.#random(TIED)]));
      stored.sort(([a], [b]) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
    }
    const page = pageOf(
      stored.map(([, { record }]) => record),
      query,
      this.#behaviour.maxPageSize,
    );
    return { ...page, value: page.value.filter((record) => !("recNo" in record && this.isUnlisted(record))) };
  }
}

/** The number of lots with the same sort value. */
const TIED = 100;

const LISTS: Readonly<Record<string, ListName>> = {
  "/Item/All": "items",
  "/Inventory": "lots",
  "/Inventory/StockLevels": "stockLevels",
};

/** Returns a sort value for a key. The order is fixed, and differs from the order of the keys. */
const shuffled = (key: number) => (key * 7_919) % 10_007;
