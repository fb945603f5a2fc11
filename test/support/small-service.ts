/**
 * As much of the service as the tests on real sockets need, written from the service's document and independent of the
 * sandbox. It counts how often each write took effect.
 */
import { newItem, newLot, pageOf } from "./records.js";

export interface ServiceResponse {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A request as the service receives it. */
export interface ServiceRequest {
  method: string;
  /** Relative to the base URL, without the query. */
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

const errorResponse = (status: number, error: string, message: string): ServiceResponse => ({
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
  readonly items = new Map<string, Fields>();
  /** Newest first. */
  readonly lots: Fields[] = [];
  readonly tokens = new Map<string, number>();
  readonly token: TokenSettings = { expiresIn: 3600, lifeMs: 3_600_000 };
  tokensIssued = 0;
  #lastNumber = 1_000;

  constructor() {
    this.items.set("BOLT", itemOf("BOLT", {}, 1));
  }

  /** Makes the service refuse all tokens that it has issued. */
  revokeTokens(): void {
    this.tokens.clear();
  }

  addLot(fields: Fields): Fields {
    this.#lastNumber += 1;
    const lot = { ...newLot({ recNo: this.#lastNumber, received: new Date().toISOString() }), ...fields };
    this.lots.unshift(lot);
    return lot;
  }

  respond(request: ServiceRequest): ServiceResponse {
    const { method, path } = request;
    if (path === "/Token") return this.#issueToken(request);
    if (!this.#isAuthorized(request.authorization))
      return errorResponse(401, "unauthorized", "Authentication required.");
    if (path === "/Item" || path === "/Item/All") return this.#itemRoot(request);
    const shortID = /^\/Item\/(.+)$/.exec(path)?.[1];
    if (shortID !== undefined && method === "DELETE") return this.#discontinue(decodeURIComponent(shortID));
    if (shortID !== undefined) return this.#itemByNumber(Number(shortID));
    if (method === "POST") return this.#transact(path, JSON.parse(request.body));
    const wid = /^\/Inventory(?:\/StockLevels)?\/(\d+)$/.exec(path)?.[1];
    if (path.startsWith("/Inventory/StockLevels")) return this.#page([], request);
    if (path.startsWith("/Inventory")) {
      return this.#page(
        this.lots.filter((lot) => wid === undefined || lot.wID === Number(wid)),
        request,
      );
    }
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
    const all = [...this.items.values()];
    if (query.has("Category"))
      return { status: 200, body: all.filter(({ category }) => String(category) === query.get("Category")) };
    if (key !== null) {
      const item = this.items.get(key);
      return item ? { status: 200, body: item } : errorResponse(404, "not_found", "Item not found.");
    }
    return this.#page(path === "/Item/All" ? all : all.filter(({ discontinued }) => !discontinued), {
      query,
    });
  }

  #itemByNumber(number: number): ServiceResponse {
    const item = [...this.items.values()].find(({ partNo }) => partNo === number);
    return item ? { status: 200, body: item } : errorResponse(404, "not_found", "Item not found.");
  }

  #create(fields: Fields): ServiceResponse {
    const { shortID } = fields;
    if (typeof shortID !== "string" || shortID === "") return errorResponse(400, "bad_request", "ShortID is required.");
    if (this.items.has(shortID)) return errorResponse(409, "conflict", "An item with this ShortID exists.");
    this.#lastNumber += 1;
    const item = itemOf(shortID, fields, this.#lastNumber);
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
    const item = this.items.get(String(itemID));
    if (!item) return errorResponse(400, "bad_request", "Unknown item.");
    this.effects[kind] += 1;
    if (kind !== "receive") return { status: 200, body: { recNo: 1 } };
    const { spot = "", serial = "", serial2 = null, rfidTag = null, remark = "", jobid: jobID = 0 } = rest;
    const lot = this.addLot({
      partNo: item.partNo,
      shortID: itemID,
      units,
      wID: wid,
      spot,
      serial,
      serial2,
      rFIDTag: rfidTag,
      remark,
      jobID,
    });
    return { status: 201, body: { recNo: lot.recNo } };
  }

  #page(records: readonly Fields[], { query }: Pick<ServiceRequest, "query">): ServiceResponse {
    return { status: 200, body: pageOf(records, query) };
  }
}
