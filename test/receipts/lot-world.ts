import { type ClientOptions, InventoryClient, type Lot } from "../../src/index.js";
import { newItem, newLot } from "../support/records.js";

/** A lot of the world. The service does not show `modified`. */
export interface WorldLot extends Lot {
  modified: number;
}

type Column = keyof WorldLot;

/** The order of a list: by these columns, one after the other. If it is unstable, equal records are in random order. */
export interface ListOrder {
  columns: readonly [column: Column, direction: 1 | -1][];
  isUnstable: boolean;
}

/** How the service behaves where the document leaves it open, and where it does not follow the document. */
export interface WorldForm {
  /** The order without `sort`. */
  own: ListOrder;
  /** Columns by which the service sorts before it sorts by the requested column. */
  before: ListOrder["columns"];
  /** The columns by which the service can sort. */
  sortable: readonly string[];
  /** Whether the direction applies to all columns, to the requested column, or to none. */
  direction: "all" | "asked" | "ignored";
  pageSize: number;
  /** Returns fields that replace those of the page. */
  envelope(page: { value: Lot[]; totalCount: number; hasMore: boolean; page: number }): object;
  /** How a date is shown. */
  date(time: number): string;
  /** How the SKU of a lot is spelled. */
  spell(sku: string): string;
  /** The warehouses that the client sees. */
  scope: readonly number[];
  /** Called before a page of lots is cut, to change the lots. */
  meanwhile(): void;
}

const DAY_MS = 86_400_000;

/** A service whose lists of lots may be ordered, cut and counted in any way. It records how often each receipt was booked. */
export class LotWorld {
  readonly lots: WorldLot[] = [];
  /** How often a receipt with each remark was booked. */
  readonly booked = new Map<string, number>();
  /** What happens to the next receipts: they are lost before or after they are applied, or answered. */
  fate: ("lost" | "applied and lost" | "answered")[] = [];
  /** Called with the lot of each receipt. */
  onBooked: (lot: WorldLot) => void = () => {};
  lastRecNo = 100;

  constructor(
    readonly form: WorldForm,
    readonly items: readonly string[],
    readonly random: () => number,
  ) {}

  add(fields: Partial<WorldLot> & { shortID: string }): WorldLot {
    this.lastRecNo = Math.max(this.lastRecNo + 1 + Math.floor(this.random() * 3), fields.recNo ?? 0);
    const partNo = 1 + this.items.indexOf(fields.shortID);
    const lot = { ...newLot({ recNo: this.lastRecNo, partNo }), modified: Date.now(), ...fields };
    const { received = this.form.date(Date.now()) } = fields;
    this.lots.push(Object.assign(lot, { received }));
    return lot;
  }

  /** Adds lots of all items, warehouses and states, in the order of their numbers. */
  fill(count: number): void {
    const { random } = this;
    for (let index = 0; index < count; index += 1) {
      const age = Math.floor((1 - index / count) * 400 * DAY_MS);
      this.add({
        shortID: this.items[Math.floor(random() * this.items.length)] ?? "",
        wID: 1 + Math.floor(random() * 3),
        hold: random() < 0.05,
        active: random() < 0.95,
        associate: random() < 0.1 ? `Owner ${Math.floor(random() * 4)}` : "",
        shipped: random() < 0.2 ? "2024-05-01T00:00:00Z" : null,
        remark: random() < 0.3 ? `old ${index}` : "",
        received: this.form.date(Date.now() - age),
        modified: Date.now() - age,
      });
    }
  }

  client(options: ClientOptions = {}): InventoryClient {
    return new InventoryClient({
      baseUrl: "https://service.test/api/v1",
      clientId: "id",
      clientSecret: "the-secret",
      fetch: this.fetch,
      rateLimit: false,
      retry: false,
      ...options,
    });
  }

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = new URL(String(input));
    const path = url.pathname.replace("/api/v1", "");
    if (path === "/Token") return json({ access_token: "token-0123456789", token_type: "bearer", expires_in: 3_600 });
    if (path === "/Inventory/Receive") return this.#receive(JSON.parse(String(init?.body)));
    if (path === "/Item") return this.#item(url.searchParams.get("key") ?? "");
    const wid = /^\/Inventory\/(\d+)$/.exec(path)?.[1];
    if (wid !== undefined && !this.form.scope.includes(Number(wid))) return json(OUT_OF_SCOPE, 403);
    return json(this.#list(url.searchParams, wid));
  };

  #receive(body: { itemID: string; units: number; wid: number; remark?: string; serial?: string }): Response {
    const fate = this.fate.shift() ?? "answered";
    if (fate === "lost") throw new TypeError("fetch failed");
    const { itemID: shortID, units, wid: wID, remark = "", serial = "" } = body;
    const lot = this.add({ shortID, units, wID, remark, serial });
    this.booked.set(remark, (this.booked.get(remark) ?? 0) + 1);
    this.onBooked(lot);
    if (fate === "answered") return json({ recNo: lot.recNo }, 201);
    throw new TypeError("fetch failed");
  }

  #item(key: string): Response {
    const index = this.items.findIndex((sku) => sku.toLowerCase() === key.toLowerCase());
    if (index < 0) return json({ statusCode: 404, error: "not_found", message: "Not found.", details: null }, 404);
    return json(newItem({ partNo: index + 1, shortID: this.items[index] ?? "" }));
  }

  #list(query: URLSearchParams, wid: string | undefined): object {
    const { form } = this;
    form.meanwhile();
    const visible = this.lots.filter(
      ({ wID }) => form.scope.includes(wID) && (wid === undefined || String(wID) === wid),
    );
    const listed = this.#sorted(visible, query.get("sort"), query.get("direction") === "DESC" ? -1 : 1);
    const pageSize = Math.min(Number(query.get("pageSize")), form.pageSize);
    const page = Number(query.get("page"));
    const value = listed
      .slice((page - 1) * pageSize, page * pageSize)
      .map(({ modified: _, ...lot }) => ({ ...lot, shortID: form.spell(lot.shortID) }));
    const pageCount = Math.ceil(listed.length / pageSize);
    const served = { value, totalCount: listed.length, page, pageSize, pageCount, hasMore: page < pageCount };
    return { ...served, ...form.envelope(served) };
  }

  #sorted(lots: readonly WorldLot[], sort: string | null, asked: 1 | -1): WorldLot[] {
    const { form } = this;
    const isSorted = sort !== null && form.sortable.includes(sort);
    const sign = form.direction === "ignored" ? 1 : asked;
    const before = form.before.map(([column, one]) => [column, form.direction === "all" ? one * sign : one] as const);
    const columns = isSorted ? [...before, [sort as Column, sign] as const] : form.own.columns;
    const isUnstable = form.own.isUnstable;
    const chance = new Map(isUnstable ? lots.map((lot) => [lot, this.random()]) : []);
    return lots.toSorted((one, next) => {
      for (const [column, direction] of columns) {
        const order = compare(one[column], next[column]);
        if (order !== 0) return direction * order;
      }
      return isUnstable ? (chance.get(one) ?? 0) - (chance.get(next) ?? 0) : sign * (one.recNo - next.recNo);
    });
  }
}

function compare(one: unknown, next: unknown): number {
  if (typeof one === "number" && typeof next === "number") return one - next;
  const [first, second] = [String(one ?? ""), String(next ?? "")];
  return first === second ? 0 : first < second ? -1 : 1;
}

const json = (body: unknown, status = 200) =>
  Response.json(body, { status, headers: { date: new Date().toUTCString() } });

const OUT_OF_SCOPE = {
  statusCode: 403,
  error: "forbidden",
  message: "Warehouse is outside the client's authorized scope.",
  details: null,
};
