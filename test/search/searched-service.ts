/**
 * The look-up of items, and the lists of lots and stock levels, of a service that sorts in different ways and whose lists
 * change between requests. Written from the service's document, independent of the sandbox.
 */
import { InventoryClient } from "stocklot";
import { createRandom } from "../support/random.js";
import { newItem, newLevel, newLot, pageOf } from "../support/records.js";

export interface SearchedRecord {
  recNo: number;
  partNo: number;
  /** Its place among the records of the same number, instead of `recNo`. */
  rank?: number;
}

export interface SearchedServiceOptions {
  /** `ignored`: `sort` has no effect. `direction-ignored`: the list is always ascending. */
  sorting?: "numbers" | "text" | "ignored" | "direction-ignored" | undefined;
  /** The order of records with the same part number. */
  ties?: "stable" | "reversed-with-direction" | "shuffled" | undefined;
  maxPageSize?: number | undefined;
  /** Called before each page, such as to change the records. */
  beforePage?: ((service: SearchedService) => void) | undefined;
  random?: (() => number) | undefined;
}

export class SearchedService {
  /** In the order added. */
  records: SearchedRecord[];
  readonly requests: URL[] = [];
  readonly #random = createRandom(1);
  readonly #options: SearchedServiceOptions;
  #lastRecNo: number;
  /** The lists in their orders, while nothing changes. */
  readonly #sortedLists = new Map<string, SearchedRecord[]>();

  constructor(partNos: readonly number[], options: SearchedServiceOptions = {}) {
    this.records = partNos.map((partNo, index) => ({ recNo: index + 1, partNo }));
    this.#lastRecNo = partNos.length;
    this.#options = options;
  }

  add(partNo: number): void {
    this.#lastRecNo += 1;
    this.records.push({ recNo: this.#lastRecNo, partNo });
  }

  /** Item `SKU-n` has the part number n, whether it is in the lists or not. */
  readonly fetch = async (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    if (url.pathname.endsWith("/Token"))
      return Response.json({ access_token: "t", token_type: "bearer", expires_in: 3600 });
    this.requests.push(url);
    if (url.pathname.endsWith("/Item/All")) return Response.json(this.#itemPage(url));
    if (url.pathname.endsWith("/Item")) return itemResponse(url.searchParams.get("key") ?? "");
    this.#options.beforePage?.(this);
    return Response.json(this.#page(url));
  };

  client(options: ConstructorParameters<typeof InventoryClient>[0] = {}): InventoryClient {
    return new InventoryClient({
      baseUrl: "https://service.test/api/v1",
      clientId: "id",
      clientSecret: "the-secret",
      fetch: this.fetch,
      rateLimit: false,
      ...options,
    });
  }

  /** The items that have records, by SKU. */
  #itemPage({ searchParams }: URL): object {
    const partNos = [...new Set(this.records.map(({ partNo }) => partNo))];
    const items = partNos.map((partNo) => newItem({ partNo, shortID: `SKU-${partNo}` }));
    return pageOf(items, searchParams, this.#options.maxPageSize);
  }

  #page({ pathname, searchParams }: URL): object {
    const isLevels = pathname.includes("StockLevels");
    const [sort, direction] = [searchParams.get("sort"), searchParams.get("direction")];
    const mayChange = this.#options.beforePage !== undefined || this.#options.ties === "shuffled";
    const sorted = (!mayChange && this.#sortedLists.get(`${sort} ${direction}`)) || this.#sorted(sort, direction);
    this.#sortedLists.set(`${sort} ${direction}`, sorted);
    const page = pageOf(sorted, searchParams, this.#options.maxPageSize);
    return { ...page, value: page.value.map((record) => (isLevels ? levelOf(record) : lotOf(record))) };
  }

  #sorted(sort: string | null, direction: string | null): SearchedRecord[] {
    const { sorting = "numbers", ties = "stable", random = this.#random } = this.#options;
    if (sort === "recNo") return this.records.toSorted((one, next) => one.recNo - next.recNo);
    // Its own order: the most recent first.
    if (sort === null && sorting !== "ignored") return this.records.toSorted((one, next) => next.recNo - one.recNo);
    if (sorting === "ignored" || sort !== "partNo")
      return direction === "DESC" ? this.records.toReversed() : this.records;
    const isDescending = direction === "DESC" && sorting !== "direction-ignored";
    const shuffled = new Map(ties === "shuffled" ? this.records.map(({ recNo }) => [recNo, random()]) : []);
    const compare = (one: SearchedRecord, next: SearchedRecord) =>
      sorting === "text" ? compareText(String(one.partNo), String(next.partNo)) : one.partNo - next.partNo;
    const compareTies = (one: SearchedRecord, next: SearchedRecord) =>
      ties === "shuffled"
        ? (shuffled.get(one.recNo) ?? 0) - (shuffled.get(next.recNo) ?? 0)
        : (one.rank ?? one.recNo) - (next.rank ?? next.recNo);
    const sign = isDescending ? -1 : 1;
    const tieSign = ties === "reversed-with-direction" ? sign : 1;
    return this.records.toSorted((one, next) => sign * compare(one, next) || tieSign * compareTies(one, next));
  }
}

const compareText = (one: string, next: string) => (one < next ? -1 : one > next ? 1 : 0);

function itemResponse(key: string): Response {
  const partNo = Number(/^SKU-(\d+)$/.exec(key)?.[1] ?? Number.NaN);
  const missing = { statusCode: 404, error: "not_found", message: `Item ${key} was not found.`, details: null };
  if (Number.isNaN(partNo)) return Response.json(missing, { status: 404 });
  return Response.json(newItem({ partNo, shortID: key }));
}

const levelOf = ({ recNo, partNo }: SearchedRecord) => newLevel({ partNo, available: recNo, inStock: recNo });

const lotOf = ({ recNo, partNo }: SearchedRecord) => newLot({ recNo, partNo, shortID: `SKU-${partNo}`, wID: 1 });
