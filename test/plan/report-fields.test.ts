import { planCount, planItems, takeSnapshot } from "stocklot/plan";
import { expect, it } from "vitest";
import { constantFields } from "../support/constant-fields.js";
import { item, world } from "./support.js";

it("each field of the report of an item plan gets a value", async () => {
  const one = world(["A", "B", "C", "D"].map((sku) => item(sku)));
  const client = one.connect(async (request, send) => {
    if (request.method === "DELETE") return Response.json({ shortID: "C", status: "discontinued" });
    if (request.method !== "PUT") return send();
    const body = (await request.text()).replace("another A", "ANOTHER A");
    return send(new Request(request.url, { method: "PUT", headers: request.headers, body }));
  });
  const stored = item("A", { description: "another A" });
  const refused = item("B", { category: 2 });
  const unseen = item("C", { discontinued: true });
  const outdated = item("D", { description: "another D" });
  const plan = await planItems({ client, desired: [stored, refused, unseen, outdated] });
  const empty = await planItems({ client, desired: [item("B")] });
  await one.client.items.update("D", { description: "by hand" });
  one.sandbox.addFault({ method: "PUT", path: "/Item", skip: 1, times: 1, fault: 409 });
  expect(constantFields([await plan.apply({ client }), await empty.apply({ client })])).toEqual([]);
});

it("each field of the report of a count gets a value", async () => {
  const wid = 3;
  const lots = ["A", "B", "C", "D", "E", "E"].map((shortID) => ({
    shortID,
    wID: wid,
    units: 5,
    received: "2025-01-01T00:00:00Z",
  }));
  const one = world(
    ["A", "B", "C", "D", "E"].map((sku) => item(sku)),
    { lots },
  );
  const { client } = one;
  const snapshot = await takeSnapshot({ client, wid });
  const planOf = (...skus: string[]) =>
    planCount({
      client,
      snapshot,
      counted: skus.map((itemID) => ({ itemID, counted: 1 })),
      reasonCodes: { surplus: 21, shortage: 22 },
    });
  const [first, second, third] = [await planOf("E"), await planOf("A"), await planOf("A", "B", "C", "D", "E")];
  const stop = new AbortController();
  const stopped = one.connect(({ url }, send) => {
    if (url.endsWith("/Issue")) stop.abort(new Error("enough"));
    return send();
  });
  const outbox = one.outbox({ client: stopped });
  await expect(first.apply({ client: stopped, outbox, signal: stop.signal })).rejects.toThrow("enough");
  const options = { client, outbox: one.outbox() };
  const reports = [await first.apply(options), await second.apply(options)];
  const failing = one.connect(async (request, send) => {
    if (!request.url.endsWith("/Issue")) return send();
    const { itemID } = Object(await request.clone().json());
    if (itemID === "B") return Response.json({ statusCode: 400, error: "bad", message: "no" }, { status: 400 });
    if (itemID !== "C") return send();
    await send();
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
  });
  reports.push(await third.apply({ client: failing, outbox: one.outbox({ client: failing }) }));
  expect(constantFields(reports)).toEqual([]);
});
