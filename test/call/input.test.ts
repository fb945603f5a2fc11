import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { InputValidationError, type InventoryClient } from "../../src/index.js";
import { envelope, ITEM, LOT } from "../support/records.js";
import { errorOf } from "../support/with-server.js";
import { CREDENTIALS, json, service } from "./service.js";

const on = service();

type Method = (...given: unknown[]) => Promise<unknown> & {
  page(): Promise<unknown>;
  pages(): AsyncGenerator<unknown>;
  toArray(options?: object): Promise<unknown>;
};
/** A client as a JavaScript program sees it: any argument can be passed. */
type Loose = Record<"request" | "paginate", Method> & {
  [Name in "items" | "inventory"]: Record<keyof InventoryClient[Name], Method>;
};
const looseClient = (): Loose => on.client(json(ITEM)) as unknown as Loose;

const receipt = { itemID: "X", units: 1, wid: 3, reasonCode: 1 };

const SENT = { method: "POST", path: "/Inventory/Receive", body: receipt, sentAt: 1 };

const request = (fields: object) => (client: Loose) => client.request({ method: "POST", path: "/a", ...fields });
const get = (options: unknown) => (client: Loose) => client.items.get("X", options);

/** Calls, each with the paths of the issues that it causes, separated by spaces. */
const rows: [call: (client: Loose) => unknown, paths: string][] = [
  [(c) => c.items.get(), "shortID"],
  [(c) => c.items.get("."), "shortID"],
  [(c) => c.items.getByPartNo(1.5), "partNo"],
  [(c) => c.items.create(), ""],
  [(c) => c.items.create({ uOM: 5 }), "shortID uOM"],
  [(c) => c.items.create({ shortID: "X", other: Infinity }), "body.other"],
  // JSON.stringify would send the result of `toJSON` instead of the checked fields.
  [(c) => c.items.create({ shortID: "X", toJSON: () => ({ shortID: "Y" }) }), ""],
  [(c) => c.items.update("X", { toJSON: () => ({ shortID: "Y" }) }), "changes"],
  [(c) => c.items.update("X", { units: "5", discontinued: 1 }), "changes.units changes.discontinued"],
  [(c) => c.inventory.receive({}), "itemID units wid reasonCode"],
  [(c) => c.inventory.receive({ ...receipt, units: 0 }), "units"],
  [(c) => c.inventory.receive({ ...receipt, expires: new Date("x") }), "expires"],
  [(c) => c.inventory.receive({ ...receipt, rFIDTag: "T" }), "rFIDTag"],
  [(c) => c.inventory.move({ itemID: "X", units: 1, wid: 3, fromSpot: "A" }), "toSpot"],
  [(c) => c.inventory.move({ itemID: "X", units: 1, wid: 3, shipToWid: 3 }), "toSpot"],
  [(c) => c.items.list({ direction: "asc" }).toArray(), "direction"],
  [(c) => c.items.list({ modifiedSince: "today" }).page(), "modifiedSince"],
  [(c) => c.items.list({ sort: "\ud800" }).page(), "query"],
  [(c) => c.inventory.listStockLevels({ wid: "3" }).pages().next(), "wid"],
  [(c) => c.items.list({}, { readahead: 1 }).toArray(), "readahead"],
  [(c) => c.inventory.getLots(""), "shortID"],
  [(c) => c.inventory.getLots("X", { wID: 3 }), "wID"],
  [(c) => c.inventory.getLots("X", {}, { gapless: true }), "gapless"],
  [(c) => c.inventory.getStockLevel(7), "shortID"],
  [(c) => c.inventory.getStockLevel("X", { wid: "3" }), "wid"],
  [(c) => c.inventory.getStockLevel("X", { page: 1 }), "page"],
  [(c) => c.inventory.getStockLevel("X", {}, { ifUnsorted: "fail" }), "ifUnsorted"],
  [(c) => c.items.list(null).toArray(), ""],
  [get(null), ""],
  [get({ timeoutMs: 0 }), "timeoutMs"],
  [get({ signal: {} }), "signal"],
  [get({ signal: { aborted: false, addEventListener() {} } }), "signal"],
  [get({ priority: "urgent" }), "priority"],
  [get({ beforeSend: "now" }), "beforeSend"],
  [get({ headers: { Authorization: "x" } }), "headers.Authorization"],
  [get({ headers: { "x-a": "b\r\nc: d" } }), "headers.x-a"],
  [request({ path: "/a/../b" }), "path"],
  [request({ method: "TRACE" }), "method"],
  [request({ query: { b: {} } }), "query.b"],
  [request({ schema: {} }), "schema"],
  [request({ body: 1n }), "body"],
  [request({ body: { lines: [{ units: 1 }, { units: Number.NaN }] } }), "body.lines.1.units"],
  [request({ body: { on: new Date("x") } }), "body.on"],
  [request({ body: { sent: new (class Money {})() } }), "body.sent"],
  [(c) => c.inventory.findReceipt(SENT, { settleMs: -1 }), "settleMs"],
  [(c) => c.inventory.findReceipt(SENT, { totalTimeoutMs: 0 }), "totalTimeoutMs"],
  [(c) => c.items.findCreated({ ...SENT, path: "/Item", body: { shortID: "X" } }, { settle: 1 }), "settle"],
  [(c) => c.inventory.findReceipt(new Error("x")), "sent"],
  [(c) => c.inventory.findReceipt({ name: "OutcomeUnknownError", request: SENT }), "sent"],
  [(c) => c.inventory.findReceipt({ ...SENT, path: "/Inventory/Move" }), "sent"],
  [(c) => c.inventory.findReceipt({ ...SENT, sentAt: undefined }), "sent.sentAt"],
  [(c) => c.inventory.findReceipt({ ...SENT, sentAt: Number.NaN }), "sent.sentAt"],
  [(c) => c.inventory.findReceipt({ ...SENT, body: { ...receipt, units: undefined } }), "sent.body.units"],
  [(c) => c.paginate({ path: "/a%zz" }).page(), "path"],
  [(c) => c.paginate().toArray(), ""],
  [(c) => c.paginate({ path: "/a" }, { gapless: true }).toArray(), "key"],
];

describe("wrong arguments are rejected, one issue per field, with nothing sent", () => {
  it.each(rows)("%s: %s", async (call, paths) => {
    const error = await errorOf(Promise.resolve(call(looseClient())));
    if (!InputValidationError.is(error)) throw error;
    expect(error.issues.map(({ path }) => path.join(".")).join(" ")).toBe(paths);
    for (const { message } of error.issues)
      expect(message).toMatch(/^(must|is|has|cannot|unknown|Invalid|Too|".*" cannot)/);
    expect(on.requests).toEqual([]);
    expect(on.tokens).toBe(0);
  });
});

describe("a message names the argument and the requirement", () => {
  it.each<[call: (client: Loose) => unknown, message: string]>([
    [(c) => c.items.get(5), "items.get: shortID: Invalid input: expected string, received number"],
    [
      (c) => c.inventory.receive({ ...receipt, rFIDTag: "T" }),
      'inventory.receive: rFIDTag: unknown field, did you mean "rfidTag"?',
    ],
    [
      (c) => c.items.list({ gapless: true }).page(),
      "items.list: gapless: unknown parameter: it belongs in the second argument",
    ],
    [
      (c) => c.inventory.listLots({ shortID: "X" }).toArray(),
      "inventory.listLots: shortID: unknown parameter: the service cannot filter this list by item. Use client.inventory.getLots(shortID), which finds one item in a few requests",
    ],
    [
      (c) => c.items.get("X", { timeoutMs: `${"x".repeat(30)}${CREDENTIALS.clientSecret}` }),
      "GET /Item: timeoutMs: must be a number of ms greater than 0",
    ],
  ])("%s", async (call, message) => {
    await expect(call(looseClient())).rejects.toMatchObject({ name: "InputValidationError", message });
  });
});

it("a secret in the place of a name is not shown, also if it is long", async () => {
  const secret = `canary-${"0123456789abcdef".repeat(20)}`;
  const client = on.client(json(ITEM), { clientSecret: secret });
  const misplaced = { [secret]: 1 };
  for (const call of [
    client.items.get("X", misplaced),
    client.inventory.listLots(misplaced as object).page(),
    client.inventory.receive({ ...receipt, ...misplaced }),
    client.request({ method: "GET", path: "/a", ...misplaced } as { method: "GET"; path: string }),
    client.items.get("X", { headers: { [secret]: "\n" } }),
  ]) {
    const error = await call.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InputValidationError);
    expect(inspect(error, { depth: 9 })).not.toContain("canary");
  }
});

it("a signal that is null is none", async () => {
  const client = on.client(({ target }) => Response.json(target.includes("page=") ? envelope([]) : ITEM));
  expect(await client.items.get("X", { signal: null })).toEqual(ITEM);
  expect(await client.items.list({}, { signal: null }).toArray()).toEqual([]);
});

it("what is wrong with arguments is bounded", async () => {
  const names = Object.fromEntries(Array.from({ length: 20_000 }, (_, index): [string, number] => [`name${index}`, 1]));
  const error = await errorOf(on.client(json(ITEM)).items.get("X", names));
  if (!InputValidationError.is(error)) throw error;
  expect(error.issues).toHaveLength(100);
  expect(error.message.length).toBeLessThan(2_100);
});

it("the caller's objects are never changed", async () => {
  const frozen = <T extends object>(value: T): T => Object.freeze(value);
  const client = on.client((request) =>
    Response.json(request.target.includes("page=") ? envelope([]) : { shortID: "X" }),
  );
  await client.items.create(frozen({ shortID: "X", description: "d" }), frozen({ timeoutMs: 5_000 }));
  await client.items.update("X", frozen({ description: "d" }));
  await client.inventory.receive(frozen({ ...receipt }), frozen({ headers: frozen({ "X-A": "b" }) }));
  await client.items.list(frozen({ page: 1 }), frozen({ readAhead: 0 })).toArray();
  await client.request(frozen({ method: "POST", path: "/a", query: frozen({ b: 1 }), body: frozen({ c: 1 }) }));
  expect(on.requests).toHaveLength(5);
});

describe("arguments are read once", () => {
  const pages = ({ target }: { target: string }) => {
    const page = Number(new URLSearchParams(target.split("?")[1]).get("page"));
    return Response.json(
      envelope([{ ...LOT, recNo: page }], { page, pageSize: 1, pageCount: 3, totalCount: 3, hasMore: page < 3 }),
    );
  };

  it("what the caller changes after a list method was called has no effect, also if the list is used several times", async () => {
    const client = on.client(pages);
    const params = { wid: 1, pageSize: 1, modifiedSince: new Date("2026-01-01") };
    const options = { headers: { "x-trace": "a" }, retry: { maxRetries: 1 }, timeoutMs: 5_000 };
    const query = { since: new Date("2026-01-01"), pageSize: 1 };
    const lots = client.inventory.listLots(params, options);
    const other = { path: "/Orders", query, maxPageSize: 50, key: "recNo" as string, schema: z.unknown() };
    const others = client.paginate(other as object as { path: string }, options);
    Object.assign(other, { path: "/Else", query: { pageSize: 9 }, maxPageSize: 1, key: "none", schema: z.never() });
    Object.assign(params, { wid: 2, pageSize: 0 });
    params.modifiedSince.setTime(Number.NaN);
    query.since.setTime(0);
    query.pageSize = -1;
    options.headers["x-trace"] = "b\n";
    Object.assign(options, { timeoutMs: -1, retry: "never" });
    for (const list of [lots, others]) {
      await list.toArray();
      await list.page();
    }
    expect(on.requests).toHaveLength(8);
    for (const { target, headers } of on.requests) {
      expect(target).toMatch(/^\/(Inventory\/1|Orders)\?.*ince=2026-01-01T00%3A00%3A00.000Z/);
      expect(headers["x-trace"]).toBe("a");
    }
  });

  it("what the caller changes after a call has begun has no effect", async () => {
    const client = on.client(json({ shortID: "X" }));
    const input = { shortID: "X", description: "d" };
    const options = { headers: { "x-trace": "a" } };
    const query = { on: new Date("2026-01-01") };
    const body = { units: [1] };
    const calls = [
      client.items.create(input, options),
      client.request({ method: "POST", path: "/Orders", query, body }, options),
    ];
    Object.assign(input, { shortID: "Y" });
    options.headers["x-trace"] = "b";
    query.on.setTime(0);
    body.units.push(2);
    await Promise.all(calls);
    expect(on.requests.map(({ headers }) => headers["x-trace"])).toEqual(["a", "a"]);
    expect(on.requests.map(({ target }) => target).sort()).toEqual([
      "/Item",
      "/Orders?on=2026-01-01T00%3A00%3A00.000Z",
    ]);
    expect(on.requests.map((request) => request.body).sort()).toEqual([
      '{"shortID":"X","description":"d"}',
      '{"units":[1]}',
    ]);
  });

  /** Returns an object whose fields are valid when they are read the first time, and invalid afterwards. */
  const changing = <T extends object>(fields: T): T => {
    const seen = new Set<PropertyKey>();
    return new Proxy(fields, {
      get(target, name) {
        if (seen.has(name)) return Number.NaN;
        seen.add(name);
        return Reflect.get(target, name);
      },
    });
  };
  const inherited = <T extends object>(fields: T): T => Object.create(fields);
  const getters = <T extends object>(fields: T): T => {
    class Input {}
    for (const [name, value] of Object.entries(fields))
      Object.defineProperty(Input.prototype, name, { get: () => value });
    return new Input() as T;
  };

  const MOVE = { itemID: "X", units: 1, wid: 3, toSpot: "A" };
  const EXPIRING = { ...receipt, serial: "S1", expires: "2026-05-01T00:00:00.000Z" };
  const SENDING: [
    target: string,
    body: object,
    call: (c: InventoryClient, wrap: <T extends object>(fields: T) => T) => unknown,
  ][] = [
    [
      "/Inventory/Receive",
      EXPIRING,
      (c, wrap) =>
        c.inventory.receive(wrap({ ...EXPIRING, expires: new Date("2026-05-01") }), wrap({ timeoutMs: 5_000 })),
    ],
    ["/Inventory/Issue", receipt, (c, wrap) => c.inventory.issue(wrap(receipt))],
    ["/Inventory/Move", MOVE, (c, wrap) => c.inventory.move(wrap(MOVE))],
    ["/Item", { shortID: "X", uOM: "EA" }, (c, wrap) => c.items.create(wrap({ shortID: "X", uOM: "EA" }))],
    ["/Item", { shortID: "X", units: 5 }, (c, wrap) => c.items.update("X", wrap({ units: 5 }))],
    ["/Orders", { a: 1 }, (c, wrap) => c.request(wrap({ method: "PUT", path: "/Orders", body: { a: 1 } }))],
  ];

  it.each([
    ["a field that changes", changing],
    ["inherited fields", inherited],
    ["getters of a class", getters],
  ])("%s: what was checked is sent", async (_, wrap) => {
    const client = on.client(({ target }) =>
      Response.json(target.includes("page=") ? envelope([LOT]) : { shortID: "X" }),
    );
    for (const [target, body, call] of SENDING) {
      await call(client, wrap);
      const sent = on.requests.at(-1);
      expect([sent?.target, JSON.parse(sent?.body ?? "")]).toEqual([target, body]);
    }
    await client.inventory.listLots(wrap({ wid: 3 }), wrap({ readAhead: 0 })).toArray();
    expect(on.requests.at(-1)?.target).toMatch(/^\/Inventory\/3/);
  });

  it("an argument that throws when it is read rejects, and nothing throws synchronously", async () => {
    const client = on.client(json(ITEM));
    const hostile = (): never => {
      throw new Error("mine");
    };
    const params = {
      get wid(): number {
        return hostile();
      },
    };
    await expect(client.inventory.listLots(params).toArray()).rejects.toThrow("mine");
    const list = {
      path: "/a",
      get key(): string {
        return hostile();
      },
    };
    await expect(client.paginate(list as never).page()).rejects.toThrow("mine");
    expect(on.requests).toEqual([]);
  });
});

it("a key that is a function, and gapless from a page beyond the first, are refused", async () => {
  const client = on.client(json(envelope([{ no: 1 }])));
  const key = (() => "no") as never;
  await expect(client.paginate({ path: "/Orders", key }).toArray()).rejects.toThrow(/key: must be a field name/);
  await expect(client.items.list({ page: 2 }, { gapless: true }).toArray()).rejects.toThrow(
    /page: must be 1 with gapless/,
  );
});
