import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FaultServer } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { runs } from "../support/runs.js";
import { connect, startServer } from "../support/with-server.js";

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
