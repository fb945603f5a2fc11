import { InputValidationError, UnexpectedRemovalsError } from "stocklot";
import { planItems, readPlan } from "stocklot/plan";
import { describe, expect, it } from "vitest";
import { withDigest } from "../../src/plan/document.js";
import { item, readItemPlan, world } from "./support.js";

const reasonsOf = (blocked: readonly { shortID: string; reason: string }[]) =>
  Object.fromEntries(blocked.map(({ shortID, reason }) => [shortID, reason]));

describe("planItems", () => {
  it("finds what differs, and writes nothing", async () => {
    const { client, writes } = world([item("A"), item("B"), item("C")]);
    const desired = [item("A"), item("B", { description: "another", category: 2 }), item("D", { units: 0.5 })];
    const plan = await planItems({ client, desired });
    expect(plan.counts).toEqual({ create: 1, update: 1, discontinue: 0, unchanged: 1, blocked: 0 });
    expect(plan.changes).toEqual([
      {
        operation: "create",
        shortID: "D",
        fields: {
          description: { before: null, after: "item D" },
          category: { before: null, after: 1 },
          uOM: { before: null, after: "EA" },
          units: { before: null, after: 0.5 },
        },
      },
      {
        operation: "update",
        shortID: "B",
        fields: { description: { before: "item B", after: "another" }, category: { before: 1, after: 2 } },
      },
    ]);
    expect(plan.isEmpty).toBe(false);
    expect(writes()).toEqual([]);
  });

  it("reads an array when it is called", async () => {
    const { client } = world([item("A"), item("B")]);
    const desired = [
      { shortID: "A", category: 7 },
      { shortID: "B", category: 7 },
    ];
    const planning = planItems({ client, desired });
    Object.assign(desired[1] ?? {}, { category: 8 });
    desired.push({ shortID: "C", category: 7 });
    const { changes } = await planning;
    expect(changes.map(({ shortID, fields }) => [shortID, fields.category?.after])).toEqual([
      ["A", 7],
      ["B", 7],
    ]);
  });

  it("leaves fields alone that are missing in a row, or not among the fields", async () => {
    const { client } = world([item("A"), item("B"), item("C")]);
    const desired = [
      { shortID: "A", description: undefined, category: 7 },
      { shortID: "B", description: null, category: 1 },
      { shortID: "C", description: "another", category: 7 },
    ];
    const plan = await planItems({ client, desired, fields: ["category"] });
    expect(plan.changes.map(({ shortID, fields }) => [shortID, Object.keys(fields)])).toEqual([
      ["A", ["category"]],
      ["C", ["category"]],
    ]);
    const created = await planItems({ client, desired: [item("D")], fields: ["category"] });
    expect(Object.keys(created.changes[0]?.fields ?? {})).toEqual(["description", "category", "uOM"]);
  });

  it("compares numbers as numbers, strings exactly, and blank strings with null", async () => {
    const { client } = world([item("A", { units: 1, putUp: "", description: "Bolt" })]);
    const same = await planItems({ client, desired: [{ shortID: "A", units: 1.0, putUp: "" }] });
    expect(same.isEmpty).toBe(true);
    const other = await planItems({ client, desired: [{ shortID: "A", description: "bolt" }] });
    expect(other.counts.update).toBe(1);
  });

  it("reads the list once, for any number of rows", async () => {
    const { client, sandbox } = world(1_000);
    const items = await client.items.list().toArray();
    const before = sandbox.requests.length;
    const plan = await planItems({ client, desired: items });
    expect(plan.counts).toMatchObject({ unchanged: items.length, update: 0 });
    expect(sandbox.requests.length - before).toBeLessThanOrEqual(6);
  });

  it("estimates what its application costs within the client's limit; of a plan that was read, within the documented one", async () => {
    const { client, connect } = world(600);
    const items = await client.items.list().toArray();
    const desired = items.slice(0, 300).map(({ shortID }) => ({ shortID, description: "another" }));
    const limited = connect(undefined, { rateLimit: { requests: 60, reserved: 20, intervalMs: 10_000 } });
    const plan = await planItems({ client: limited, desired });
    // 300 writes, three overlapping pages for reading the catalog again, and three pages for reading at the end what was written.
    expect(plan.estimate().requests).toBe(300 + 3 + 3);
    const { available } = limited.rateLimit;
    expect(plan.estimate().durationMs).toBe(Math.ceil((306 - (available - 20)) / 40) * 10_000);
    expect(readItemPlan(plan.toJSON()).estimate()).toEqual({ requests: 306, durationMs: 3 * 60_000 });
    const few = await planItems({ client: limited, desired: desired.slice(0, 1) });
    expect(few.estimate()).toEqual({ requests: 3, durationMs: 0 });
  });

  it("names every wrong row before the first request", async () => {
    const { client, sandbox } = world([item("A")]);
    const desired = [
      item("A"),
      item(" B"),
      { shortID: "C", units: "many" },
      item("a"),
      { description: "no SKU" },
      item("D", { category: Number.NaN }),
    ];
    const error = await planItems({ client, desired: desired as never }).catch((reason) => reason);
    expect(error).toBeInstanceOf(InputValidationError);
    expect(error.issues.map(({ path }: { path: unknown[] }) => path)).toEqual([
      [1, "shortID"],
      [2, "units"],
      [3, "shortID"],
      [4, "shortID"],
      [5, "category"],
    ]);
    expect(error.issues[2].message).toContain("row 0");
    expect(sandbox.requests).toEqual([]);
  });

  it("refuses an empty source, and rows of no kind", async () => {
    const { client, sandbox } = world([item("A")]);
    for (const desired of [[], new Set(), (async function* () {})(), 5, undefined]) {
      await expect(planItems({ client, desired: desired as never })).rejects.toBeInstanceOf(InputValidationError);
    }
    expect(sandbox.requests).toEqual([]);
  });

  it("refuses a field that no item has, and accepts one that an item has", async () => {
    const { client } = world([{ ...item("A"), colour: "red" } as never]);
    const colour = await planItems({ client, desired: [{ shortID: "A", colour: "blue" } as never] });
    expect(colour.changes).toMatchObject([{ fields: { colour: { before: "red", after: "blue" } } }]);
    const error = await planItems({ client, desired: [item("A"), { shortID: "B", descripton: "x" } as never] }).catch(
      (reason) => reason,
    );
    expect(error).toBeInstanceOf(InputValidationError);
    expect(error.issues).toEqual([
      { path: [1, "descripton"], message: 'is a field that no item has, did you mean "description"?' },
    ]);
  });

  it("ignores what only the service sets", async () => {
    const { client, items } = world([item("A")]);
    const [present] = await items();
    const desired = [{ ...present, shortID: "A", modified: "2020-01-01T00:00:00Z" }];
    expect((await planItems({ client, desired })).isEmpty).toBe(true);
  });

  it("blocks an item that is discontinued, or spelled otherwise", async () => {
    const { client } = world([item("A", { discontinued: true }), item("bolt-m8")]);
    const plan = await planItems({ client, desired: [item("A"), item("BOLT-M8"), item("C", { discontinued: true })] });
    expect(plan.counts).toEqual({ create: 0, update: 0, discontinue: 0, unchanged: 1, blocked: 2 });
    expect(plan.isEmpty).toBe(true);
    expect(reasonsOf(plan.blocked)).toEqual({
      A: "it is discontinued, and the service documents no way back",
      "BOLT-M8": 'the service spells it "bolt-m8"',
    });
  });

  it("discontinues absent items that are owned, and rows that say so, but none with stock", async () => {
    const catalog = [
      ...Array.from({ length: 40 }, (_, index) => item(`K${index}`)),
      item("X"),
      item("Y", { category: 2 }),
    ];
    const { client } = world([...catalog, item("Z"), item("S")], {
      lots: [{ shortID: "S", wID: 1, units: 3 }],
      stockLevels: [{ shortID: "Z", onOrder: 2 }],
    });
    const desired = [...catalog.slice(0, 40)];
    const options = {
      client,
      desired,
      absent: "discontinue",
      owns: ({ category }: { category: number }) => category === 1,
    } as const;
    const plan = await planItems(options);
    expect(plan.counts).toEqual({ create: 0, update: 0, discontinue: 1, unchanged: 40, blocked: 2 });
    expect(plan.changes.map(({ shortID, operation }) => [shortID, operation])).toEqual([["X", "discontinue"]]);
    expect(plan.changes[0]?.fields).toMatchObject({
      discontinued: { before: false, after: true },
      uOM: { before: "EA" },
    });
    expect(plan.changes[0]?.fields).not.toHaveProperty("modified");
    expect(reasonsOf(plan.blocked)).toEqual({
      S: "it has stock or open quantities: inStock 3",
      Z: "it has stock or open quantities: onOrder 2",
    });
    expect((await planItems({ ...options, withStock: true })).counts.discontinue).toBe(3);
    const byRow = await planItems({ client, desired: [...desired, item("Y", { discontinued: true })] });
    expect(byRow.changes).toMatchObject([{ shortID: "Y", operation: "discontinue" }]);
  });

  it("finds the stock of one item of a long catalog in a few requests", async () => {
    const catalog = Array.from({ length: 2_000 }, (_, index) => item(`K${index}`));
    const { client, sandbox } = world(catalog, { lots: [{ shortID: "K7", wID: 1, units: 3 }] });
    const plan = await planItems({ client, desired: [item("K7", { discontinued: true })] });
    expect(reasonsOf(plan.blocked)).toEqual({ K7: "it has stock or open quantities: inStock 3" });
    expect(sandbox.requests.filter(({ path }) => path.startsWith("/Inventory")).length).toBeLessThan(8);
  });

  it("refuses to discontinue a large part, or everything", async () => {
    const catalog = Array.from({ length: 100 }, (_, index) => item(`K${index}`));
    const { client } = world(catalog);
    const plan = (kept: number, options = {}) =>
      planItems({ client, desired: catalog.slice(0, kept), absent: "discontinue", owns: () => true, ...options });
    expect((await plan(90)).counts.discontinue).toBe(10);
    const error = await plan(89).catch((reason) => reason);
    expect(error).toBeInstanceOf(UnexpectedRemovalsError);
    expect(error).toMatchObject({ resource: "items", removals: 11, records: 100 });
    expect((await plan(50, { maxDiscontinuedShare: 0.5 })).counts.discontinue).toBe(50);
    const few = { owns: ({ shortID }: { shortID: string }) => ["K98", "K99"].includes(shortID) };
    await expect(plan(90, few)).rejects.toBeInstanceOf(UnexpectedRemovalsError);
  });

  it("requires owns with absent: discontinue, and refuses unknown options", async () => {
    const { client, sandbox } = world([item("A")]);
    const wrong: object[] = [
      { absent: "discontinue" },
      { absent: "delete" },
      { maxDiscontinuedShare: 5 },
      { owned: () => true },
      { ignoreStoredForms: [{}] },
    ];
    for (const options of wrong) {
      await expect(planItems({ client, desired: [item("A")], ...options })).rejects.toBeInstanceOf(
        InputValidationError,
      );
    }
    expect(sandbox.requests).toEqual([]);
  });

  it("ends with the reason of the signal while the source never returns its next row", async () => {
    const { client } = world([item("A")]);
    const reason = new Error("no time");
    const controller = new AbortController();
    const desired = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          controller.abort(reason);
          return new Promise<IteratorResult<never>>(() => {});
        },
      }),
    };
    await expect(planItems({ client, desired, signal: controller.signal })).rejects.toBe(reason);
  });

  it("reads a source no further once the signal has aborted", async () => {
    const { client } = world([item("A")]);
    const controller = new AbortController();
    let rows = 0;
    let hasEnded = false;
    async function* source() {
      try {
        for (; rows < 10; rows += 1) {
          if (rows === 2) controller.abort();
          yield item(`A${rows}`);
        }
      } finally {
        hasEnded = true;
      }
    }
    await expect(planItems({ client, desired: source(), signal: controller.signal })).rejects.toThrow();
    await expect.poll(() => hasEnded).toBe(true);
    expect(rows).toBe(2);
  });
});

describe("A plan", () => {
  const plan = async () => {
    const { client } = world([item("A"), item("B", { discontinued: true }), item("C\u001b[2J")]);
    const desired = [item("A", { description: "another" }), item("B"), item("C\u001b[2J", { category: 2 }), item("D")];
    return planItems({ client, desired });
  };

  it("reads like a diff, without control characters", async () => {
    const text = (await plan()).toText();
    expect(text.split("\n")).toEqual([
      "+ 1 create  ~ 2 update  - 0 discontinue  = 0 unchanged  ! 1 blocked",
      "",
      "+ D",
      '    description  "item D"',
      "    category     1",
      '    uOM          "EA"',
      "",
      "~ A",
      '    description  "item A" → "another"',
      "~ C\ufffd[2J",
      "    category  1 → 2",
      "",
      "! B  it is discontinued, and the service documents no way back",
    ]);
    expect((await plan()).toText({ limit: 1 })).toContain("… and 1 more");
  });

  it("is a document: stored, restored, and refused if it was changed", async () => {
    const original = await plan();
    const json = JSON.stringify(original);
    const restored = readPlan(json);
    expect(restored.id).toBe(original.id);
    // Changes are frozen, so that exactly what was reviewed is applied.
    for (const one of [original, readItemPlan(json)]) expect(Object.isFrozen(one.changes[0]?.fields)).toBe(true);
    expect(restored.toText()).toBe(original.toText());
    expect(JSON.stringify(restored)).toBe(json);
    expect(readPlan(JSON.stringify(JSON.parse(json), null, 4)).counts).toEqual(original.counts);
    expect(readPlan(JSON.parse(json)).counts).toEqual(original.counts);
    const { digest, ...content } = JSON.parse(json);
    expect(withDigest(content)).toMatchObject({ digest });
    for (const changed of [
      json.replace("another", "Another"),
      json.replace('"update":2', '"update":1'),
      "{}",
      "x",
      "[]",
      withDigest({ ...content, version: 1 }),
      withDigest({ ...content, format: "another" }),
    ]) {
      expect(() => readPlan(changed)).toThrow(expect.objectContaining({ name: "ConfigurationError" }));
    }
  });
});
