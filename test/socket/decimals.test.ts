import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ClientOptions, ResponseValidationError } from "../../src/index.js";
import type { FaultServer } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { runs } from "../support/runs.js";
import { connect, errorOf, startServer } from "../support/with-server.js";

const always = Number.POSITIVE_INFINITY;

/** Decimal quantities with up to 15 significant digits. */
const quantity = fc
  .tuple(fc.stringMatching(/^[1-9]\d{0,14}$/), fc.integer({ min: 0, max: 12 }))
  .map(([digits, places]) => {
    const padded = digits.padStart(places + 1, "0");
    const whole = padded.slice(0, padded.length - places);
    const fraction = padded.slice(padded.length - places).replace(/0+$/, "");
    return fraction === "" ? whole : `${whole}.${fraction}`;
  });

/** The number in JSON, as a decimal without an exponent. */
const written = (json: string, field: string) => {
  const text = new RegExp(`"${field}":(-?[\\d.]+(?:[eE][+-]?\\d+)?)`).exec(json)?.[1] ?? "";
  return text.includes("e") ? Number(text).toFixed(20).replace(/0+$/, "") : text;
};

describe("a quantity of up to 15 significant digits", () => {
  it("is sent unchanged", async () => {
    const server = await startServer();
    const client = connect(server, { rateLimit: false });
    await fc.assert(
      fc.asyncProperty(quantity, async (text) => {
        await client.inventory.receive({ itemID: "BOLT", units: Number(text), wid: 3, reasonCode: 1 });
        expect(written(server.requests.at(-1)?.body ?? "", "units")).toBe(text);
      }),
      { numRuns: runs(200) },
    );
  });

  it("is returned as the service wrote it, and sent back unchanged", async () => {
    const server = await startServer();
    const client = connect(server, { rateLimit: false });
    await fc.assert(
      fc.asyncProperty(quantity, fc.integer({ min: 0, max: 10 }), async (text, zeros) => {
        const scaled = `${text}${text.includes(".") ? "" : "."}${"0".repeat(zeros + 1)}`;
        server.clearPlans();
        server.plan(itemWithUnits(server, scaled));
        const { units } = await client.items.get("BOLT");
        expect(units).toBe(Number(text));
        await client.items.update("BOLT", { units });
        expect(written(server.requests.at(-1)?.body ?? "", "units")).toBe(text);
      }),
      { numRuns: runs(200) },
    );
  });
});

const itemWithUnits = (server: FaultServer, units: string) =>
  faults.body(JSON.stringify({ ...server.service.items.get("BOLT"), units: "UNITS" }).replace('"UNITS"', units));

const TOO_PRECISE = ["0.1234567890123456789", "9007199254740993", "1e400", "12345678901234567.5"];

describe.each(TOO_PRECISE)("a quantity of %s, which no double can represent,", (units) => {
  async function clientReceiving(body: (server: FaultServer) => faults.Fault, options: ClientOptions) {
    const server = await startServer();
    server.plan(body(server), { times: always });
    const lines: string[] = [];
    const ignore = () => {};
    const logger = { debug: ignore, info: ignore, error: ignore, warn: (line: string) => void lines.push(line) };
    return { client: connect(server, { logger, ...options }), lines };
  }

  it("is an error that names it, unless the client is more lenient", async () => {
    const { client } = await clientReceiving((server) => itemWithUnits(server, units), {});
    const error = await errorOf(client.items.get("BOLT"));
    expect(error).toBeInstanceOf(ResponseValidationError);
    expect(error).toMatchObject({
      status: 200,
      issues: [{ path: ["units"], message: expect.stringContaining(units) }],
    });
  });

  it("is logged with `warn`, and ignored with `off`", async () => {
    for (const [responseValidation, warnings] of [
      ["warn", 1],
      ["off", 0],
    ] as const) {
      const { client, lines } = await clientReceiving((server) => itemWithUnits(server, units), { responseValidation });
      expect(await client.items.get("BOLT")).toHaveProperty("units", Number(units));
      expect(lines.filter((line) => line.includes(units))).toHaveLength(warnings);
    }
  });

  it("is found in pages, in any other response, and in unknown fields", async () => {
    const lot = (server: FaultServer) => JSON.stringify({ ...server.service.addLot({}), units: 1, extra: "UNITS" });
    const page = (server: FaultServer) =>
      `{"value":[${lot(server)},${lot(server).replace('"UNITS"', units)}],"totalCount":2,"page":1,"pageSize":250,"pageCount":1,"hasMore":false}`;
    const { client } = await clientReceiving((server) => faults.body(page(server)), {});
    const issues = [{ path: ["value", 1, "extra"] }];
    expect(await errorOf(client.inventory.listLots().toArray())).toMatchObject({ issues });
    expect(await errorOf(client.request({ method: "GET", path: "/Orders" }))).toMatchObject({ issues });
    expect(await errorOf(client.paginate({ path: "/Orders" }).page())).toMatchObject({ issues });
  });

  it("in the response to a transaction is logged, since the transaction has succeeded anyway", async () => {
    const { client, lines } = await clientReceiving(() => faults.body(`{"recNo":12,"left":${units}}`), {});
    const receipt = { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 };
    expect(await client.inventory.receive(receipt)).toMatchObject({ recNo: 12 });
    expect(lines.join("\n")).toContain(units);
  });
});

it("long digits in strings are ignored", async () => {
  const server = await startServer();
  const serial = "303402DFA8000000123456789012345678901e400";
  server.service.addLot({ serial, rFIDTag: "9007199254740993", remark: "no 9007199254740993, 1e400" });
  expect(await connect(server).inventory.listLots().toArray()).toMatchObject([{ serial }]);
});
