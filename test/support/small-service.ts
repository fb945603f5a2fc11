/**
 * A second implementation of parts of the service, written from the service's document and independent of the sandbox. It counts
 * how often each write took effect, and can sort lists in different ways.
 */
import { type ClientOptions, InventoryClient, type Lot } from "../../src/index.js";
import { createRandom } from "./random.js";
import { newItem, newLevel, newLot, pageOf } from "./records.js";

export interface ServiceResponse {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A request as the service receives it. */
export interface ServiceRequest {
  method: string;
  /** The path relative to the base URL, without the query. */
  path: string;
  query: URLSearchParams;
  authorization: string | undefined;
  body: string;
}

export type Write = "create" | "receive" | "move" | "issue" | "update" | "discontinue";

export interface TokenSettings {
  expiresIn: unknown;
  lifeMs: number;
}

type Fields = Record<string, unknown>;

/** A lot. Fields that are left out are those of `newLot()`. In the list of stock levels, it is shown as a stock level. */
export interface ListedLot extends Partial<Lot> {
  recNo: number;
  partNo: number;
  /** The sort value among lots of the same part number, instead of `recNo`. */
  rank?: number;
}

export interface ServiceBehaviour {
  /**
   * How lists are sorted by part number. `ignored`: `sort` has no effect. `partNo-ignored`: `sort` works only for other columns.
   * `direction-ignored`: lists are always ascending.
   */
  sorting?: "numbers" | "text" | "ignored" | "partNo-ignored" | "direction-ignored" | undefined;
  /** The order of lots with the same part number. */
  ties?: "stable" | "reversed-with-direction" | "shuffled" | undefined;
  maxPageSize?: number | undefined;
  /** Called before each page, for example to change the lots. */
  beforePage?: ((service: SmallService) => void) | undefined;
  random?: (() => number) | undefined;
  /** Changes the lot that a receipt adds. If it returns `undefined`, the receipt adds no lot. */
  book?: ((lot: ListedLot) => ListedLot | undefined) | undefined;
}

export const errorResponse = (status: number, error: string, message: string): ServiceResponse => ({
  status,
  body: { statusCode: status, error, message, details: null },
});

const itemOf = (shortID: string, fields: Fields, partNo: number): Fields => {
  const now = new Date().toISOString();
  return { ...newItem({ partNo, shortID, created: now, modified: now }), ...fields };
};

export class SmallService {
  /** How often each write took effect. */
  readonly effects: Record<Write, number> = { create: 0, receive: 0, move: 0, issue: 0, update: 0, discontinue: 0 };
  readonly items = new Map<string, Fields>([["BOLT", itemOf("BOLT", {}, 1)]]);
  /** The lots, in the order in which they were received. */
  lots: ListedLot[] = [];
  /** The URLs of the requests to `fetch`, without token requests. */
  readonly requests: URL[] = [];
  readonly tokens = new Map<string, number>();
  readonly token: TokenSettings = { expiresIn: 3600, lifeMs: 3_600_000 };
  tokensIssued = 0;
  #lastPartNo = 1_000;
  protected lastRecNo = 0;
  readonly #random = createRandom(1);
  /** Sorted lists, which are kept until something changes. */
  readonly #sortedLists = new Map<string, ListedLot[]>();

  constructor(readonly behaviour: ServiceBehaviour = {}) {}

  readonly fetch = async (input: Request | URL | string, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    const path = url.pathname.replace(/^\/api\/v1/, "");
    if (path !== "/Token") this.requests.push(url);
    const { status, body } = this.respond({
      method: request.method,
      path,
      query: url.searchParams,
      authorization: request.headers.get("authorization") ?? undefined,
      body: await request.text(),
    });
    const now = this.dateHeader;
    return Response.json(body, { status, headers: now === undefined ? {} : { date: new Date(now).toUTCString() } });
  };

  /** Creates a client that sends its requests to `fetch`. */
  client(options: ClientOptions = {}): InventoryClient {
    return new InventoryClient({
      baseUrl: "https://service.test/api/v1",
      clientId: "id",
      clientSecret: "the-secret",
      fetch: this.fetch,
      rateLimit: false,
      ...options,
    });
  }

  /** The time for the header `Date`, in ms, or `undefined` if responses have no such header. */
  protected get dateHeader(): number | undefined {
    return Date.now();
  }

  /** Makes the service refuse all tokens that it has issued. */
  revokeTokens(): void {
    this.tokens.clear();
  }

  addLot(fields: Partial<Lot>): ListedLot {
    this.lastRecNo += 1;
    const lot = { recNo: this.lastRecNo, partNo: 1, ...fields };
    this.lots.push(lot);
    this.#sortedLists.clear();
    return lot;
  }

  protected findItem(key: string): Fields | undefined {
    return this.items.get(key);
  }

  protected allItems(): Fields[] {
    return [...this.items.values()];
  }

  respond(request: ServiceRequest): ServiceResponse {
    if (request.path === "/Token") return this.#issueToken(request);
    if (!this.#isAuthorized(request.authorization))
      return errorResponse(401, "unauthorized", "Authentication required.");
    return this.respondAuthorized(request);
  }

  protected respondAuthorized(request: ServiceRequest): ServiceResponse {
    const { method, path } = request;
    if (path === "/Item" || path === "/Item/All") return this.#itemRoot(request);
    const shortID = /^\/Item\/(.+)$/.exec(path)?.[1];
    if (shortID !== undefined && method === "DELETE") return this.#discontinue(decodeURIComponent(shortID));
    if (shortID !== undefined) return this.#itemByNumber(Number(shortID));
    if (method === "POST") return this.#transact(path, JSON.parse(request.body));
    if (path.startsWith("/Inventory")) return this.#list(request);
    return errorResponse(404, "not_found", "Not found.");
  }

  #issueToken({ body }: ServiceRequest): ServiceResponse {
    if (new URLSearchParams(body).get("grant_type") !== "client_credentials") {
      return errorResponse(400, "bad_request", "grant_type");
    }
    this.tokensIssued += 1;
    const token = `canary-token-${this.tokensIssued}-0123456789abcdef`;
    this.tokens.set(token, Date.now() + this.token.lifeMs);
    const { expiresIn } = this.token;
    return {
      status: 200,
      body: {
        access_token: token,
        token_type: "bearer",
        ...(expiresIn === undefined ? {} : { expires_in: expiresIn }),
      },
    };
  }

  #isAuthorized(authorization: string | undefined): boolean {
    const token = authorization?.replace(/^Bearer /, "");
    return token !== undefined && (this.tokens.get(token) ?? 0) > Date.now();
  }

  #itemRoot({ method, path, query, body }: ServiceRequest): ServiceResponse {
    if (method === "POST") return this.#create(JSON.parse(body));
    if (method === "PUT") return this.#update(JSON.parse(body));
    const key = query.get("key");
    if (key !== null) {
      const item = this.findItem(key);
      return item ? { status: 200, body: item } : errorResponse(404, "not_found", `Item ${key} was not found.`);
    }
    const all = this.allItems();
    if (query.has("Category"))
      return { status: 200, body: all.filter(({ category }) => String(category) === query.get("Category")) };
    const listed = path === "/Item/All" ? all : all.filter(({ discontinued }) => !discontinued);
    return { status: 200, body: pageOf(listed, query, this.behaviour.maxPageSize) };
  }

  #itemByNumber(number: number): ServiceResponse {
    const item = [...this.items.values()].find(({ partNo }) => partNo === number);
    return item ? { status: 200, body: item } : errorResponse(404, "not_found", "Item not found.");
  }

  #create(fields: Fields): ServiceResponse {
    const { shortID } = fields;
    if (typeof shortID !== "string" || shortID === "") return errorResponse(400, "bad_request", "ShortID is required.");
    if (this.items.has(shortID)) return errorResponse(409, "conflict", "An item with this ShortID exists.");
    this.#lastPartNo += 1;
    const item = itemOf(shortID, fields, this.#lastPartNo);
    this.items.set(shortID, item);
    this.effects.create += 1;
    return { status: 201, body: item };
  }

  #update({ shortID, ...changes }: Fields): ServiceResponse {
    const item = this.items.get(String(shortID));
    if (!item) return errorResponse(404, "not_found", "Item not found.");
    Object.assign(item, changes, { modified: new Date().toISOString() });
    this.effects.update += 1;
    return { status: 200, body: { shortID, status: "updated" } };
  }

  #discontinue(shortID: string): ServiceResponse {
    const item = this.items.get(shortID);
    if (!item) return errorResponse(404, "not_found", "Item not found.");
    item.discontinued = true;
    this.effects.discontinue += 1;
    return { status: 200, body: { shortID, status: "discontinued" } };
  }

  #transact(path: string, { itemID, units, wid, ...rest }: Fields): ServiceResponse {
    const kind = /^\/Inventory\/(Receive|Move|Issue)$/.exec(path)?.[1]?.toLowerCase();
    if (kind !== "receive" && kind !== "move" && kind !== "issue") return errorResponse(404, "not_found", "Not found.");
    const item = this.findItem(String(itemID));
    if (!item) return errorResponse(400, "bad_request", "Unknown item.");
    this.effects[kind] += 1;
    if (kind !== "receive") return { status: 200, body: { recNo: 1 } };
    const { rfidTag: rFIDTag = null, jobid: jobID = 0, serial = "", remark = "", spot = "", serial2 = null } = rest;
    const received = new Date().toISOString();
    const fields = {
      partNo: item.partNo,
      shortID: itemID,
      units,
      wID: wid,
      spot,
      serial,
      serial2,
      rFIDTag,
      remark,
      jobID,
    };
    const lot = this.addLot({ ...(fields as Partial<Lot>), received });
    const booked = this.behaviour.book ? this.behaviour.book(lot) : lot;
    this.lots.pop();
    if (booked) this.lots.push(booked);
    return { status: 201, body: { recNo: lot.recNo } };
  }

  #list({ path, query }: ServiceRequest): ServiceResponse {
    const { beforePage, ties, maxPageSize } = this.behaviour;
    beforePage?.(this);
    const wid = /\/(\d+)$/.exec(path)?.[1];
    const order = `${query.get("sort")} ${query.get("direction")}`;
    const mayChange = beforePage !== undefined || ties === "shuffled";
    const sorted =
      (!mayChange && this.#sortedLists.get(order)) || this.#sorted(query.get("sort"), query.get("direction"));
    this.#sortedLists.set(order, sorted);
    const isLevels = path.includes("StockLevels");
    const listed = wid === undefined || isLevels ? sorted : sorted.filter(({ wID = WID }) => wID === Number(wid));
    const page = pageOf(listed, query, maxPageSize);
    const value = isLevels ? page.value.map(levelOf) : page.value.map(lotOf);
    return { status: 200, body: { ...page, value } };
  }

  #sorted(sort: string | null, direction: string | null): ListedLot[] {
    const { sorting = "numbers", ties = "stable", random = this.#random } = this.behaviour;
    const isIgnored = sorting === "ignored" || (sorting === "partNo-ignored" && sort !== "recNo");
    if (sort === "recNo" && !isIgnored) return this.lots.toSorted((one, next) => one.recNo - next.recNo);
    // Without `sort`, the most recent lots come first.
    if (sort === null && !isIgnored) return this.lots.toSorted((one, next) => next.recNo - one.recNo);
    if (isIgnored || sort !== "partNo") return direction === "DESC" ? this.lots.toReversed() : this.lots;
    const sign = direction === "DESC" && sorting !== "direction-ignored" ? -1 : 1;
    const tieSign = ties === "reversed-with-direction" ? sign : 1;
    const shuffled = new Map(ties === "shuffled" ? this.lots.map(({ recNo }) => [recNo, random()]) : []);
    const compare = (one: ListedLot, next: ListedLot) =>
      sorting === "text" ? compareText(String(one.partNo), String(next.partNo)) : one.partNo - next.partNo;
    const placeOf = ({ recNo, rank = recNo }: ListedLot) => shuffled.get(recNo) ?? rank;
    return this.lots.toSorted((one, next) => sign * compare(one, next) || tieSign * (placeOf(one) - placeOf(next)));
  }
}

const compareText = (one: string, next: string) => (one < next ? -1 : one > next ? 1 : 0);

const { wID: WID } = newLot();
const lotOf = ({ rank: _, ...lot }: ListedLot) => newLot(lot);
const levelOf = ({ recNo, partNo }: ListedLot) => newLevel({ partNo, available: recNo, inStock: recNo });
