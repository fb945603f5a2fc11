import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { run, serve } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-keys-"));
afterAll(() => rmSync(directory, { recursive: true }));
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

const HEADER = "id,itemID,units,wid,reasonCode";
let outboxes = 0;

/** A service, an outbox, and imports of lines into it. */
async function importing() {
  const { sandbox, env } = await serve();
  outboxes += 1;
  const outbox = join(directory, `${outboxes}.db`);
  return {
    sandbox,
    booked: () => sandbox.requests.filter(({ path, status }) => path === "/Inventory/Receive" && status === 201).length,
    send: (name: string, lines: string, ...more: string[]) => {
      const file = join(directory, name);
      writeFileSync(file, `${HEADER}\n${lines}\n`);
      const ignored = more.includes("--key") ? [] : ["--ignore", "id"];
      return run(["import", file, "--operation", "receive", "--outbox", outbox, ...ignored, ...more], env);
    },
    keys: async () => {
      const { out } = await run(["outbox", "list", outbox, "--json"], {});
      return JSON.parse(out).map(({ key, state }: { key: string; state: string }) => `${key} ${state}`);
    },
  };
}

it("an import refuses the outbox of another service, also if all its lines are settled there", async () => {
  const [first, other] = [await serve(), await serve()];
  const file = join(directory, "service.csv");
  writeFileSync(file, `${HEADER}\n1,BOLT-M8,5,1,1\n`);
  const outbox = join(directory, "service.db");
  const send = (env: Record<string, string>) =>
    run(["import", file, "--operation", "receive", "--outbox", outbox, "--ignore", "id"], env);
  expect(await send(first.env)).toMatchObject({ code: 0 });
  expect(await send(other.env)).toMatchObject({ code: 2, err: expect.stringContaining("belongs to the service") });
  expect(other.sandbox.requests).toEqual([]);
});

it("two imports of a file at once report each line once", async () => {
  const { send, booked } = await importing();
  const lines = Array.from({ length: 20 }, (_, index) => `${index},BOLT-M8,1,1,1`).join("\n");
  const both = await Promise.all([send("at-once.csv", lines, "--json"), send("at-once.csv", lines, "--json")]);
  expect(both.map(({ out }) => JSON.parse(out).applied ?? 0).reduce((sum, applied) => sum + applied)).toBe(20);
  expect(booked()).toBe(20);
});

describe("the keys of an import", () => {
  it("are unlike for all lines of all deliveries, whatever their names and values contain", async () => {
    const { send, booked, keys } = await importing();
    const imports: [string, ...string[]][] = [
      ["27/1,BOLT-M8,5,1,1", "--delivery", "2026/11", "--key", "id"],
      ["1,BOLT-M8,5,1,1", "--delivery", "2026/11/27", "--key", "id"],
      ["PO-1/id=1,BOLT-M8,5,1,1", "--key", "id"],
      ["1,BOLT-M8,5,1,1", "--delivery", "PO-1", "--key", "id"],
      ["week48:2,BOLT-M8,5,1,1", "--key", "id"],
      ["1,BOLT-M8,5,1,1", "--delivery", "week48"],
    ];
    for (const [lines, ...more] of imports) expect(await send("f.csv", lines, ...more)).toMatchObject({ code: 0 });
    expect(booked()).toBe(imports.length);
    expect(await keys()).toEqual([
      "2026%2F11/id=27%2F1 applied",
      "2026%2F11%2F27/id=1 applied",
      "id=PO-1%2Fid%3D1 applied",
      "PO-1/id=1 applied",
      "id=week48%3A2 applied",
      "week48:2 applied",
    ]);
  });

  it("of an NDJSON file are strings, or numbers that are not rounded: no two lines share one", async () => {
    const { env, sandbox } = await serve();
    const file = join(directory, "keys.ndjson");
    const outbox = join(directory, "ndjson.db");
    const send = (doc: string) => {
      writeFileSync(file, `{"itemID":"BOLT-M8","units":1,"wid":1,"reasonCode":1,"doc":${doc}}\n`);
      return run(["import", file, "--operation", "receive", "--outbox", outbox, "--key", "doc"], env);
    };
    expect(await send("9007199254740993")).toMatchObject({ code: 2, err: expect.stringContaining("more digits") });
    for (const doc of ["9007199254740994", '{"no":1}', '["x","y"]', "true"])
      expect(await send(doc), doc).toMatchObject({
        code: 2,
        err: expect.stringContaining("must be a string, or a number"),
      });
    expect(await send('"9007199254740993"')).toMatchObject({ code: 0 });
    expect(await send("17")).toMatchObject({ code: 0 });
    expect(sandbox.requests.filter(({ path }) => path === "/Inventory/Receive")).toHaveLength(2);
  });

  it("that are too long, empty or twice in the file are refused with the line", async () => {
    const { send, sandbox } = await importing();
    const lines = [`${"x".repeat(200)},BOLT-M8,5,1,1`, ",BOLT-M8,5,1,1", "a,BOLT-M8,5,1,1", "a,BOLT-M8,6,1,1"];
    const { code, err } = await send("f.csv", lines.join("\n"), "--key", "id");
    expect(code).toBe(2);
    expect(err).toMatch(/line 2: key: must be at most 200 characters long/);
    expect(err).toMatch(/line 3: the column "id" has no key/);
    expect(err).toMatch(/line 5: the key "id=a" is that of line 4, too/);
    expect(sandbox.requests).toEqual([]);
  });

  it.each([
    ["a number with too many digits", '"units":9007199254740993', "more digits than a number keeps"],
    ["a name twice", '"units":1,"units":20', '"units" occurs twice'],
  ])("of an NDJSON file with %s is refused, and nothing is sent", async (_, fields, message) => {
    const { env, sandbox } = await serve();
    const file = join(directory, "wrong.ndjson");
    writeFileSync(file, `{"itemID":"BOLT-M8","wid":1,"reasonCode":1,${fields}}\n`);
    const { code, err } = await run(
      ["import", file, "--operation", "receive", "--outbox", join(directory, "wrong.db")],
      env,
    );
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
    expect(sandbox.requests).toEqual([]);
  });
});

describe("a file that is imported again", () => {
  const FIRST = "1,BOLT-M8,5,1,1\n2,NO-SUCH,7,1,1";

  it("with other or further lines is refused, with the two choices", async () => {
    const { send, booked, keys } = await importing();
    await send("day.csv", FIRST);
    for (const lines of ["1,BOLT-M8,6,1,1\n2,NO-SUCH,7,1,1", `${FIRST}\n3,BOLT-M8,1,1,1`]) {
      const { code, err } = await send("day.csv", lines);
      expect(code).toBe(2);
      expect(err).toMatch(/name it with --delivery.*add --corrects/s);
    }
    expect(booked()).toBe(1);
    expect(await keys()).toHaveLength(2);
    expect(await send("day.csv", "1,BOLT-M8,6,1,1", "--delivery", "another")).toMatchObject({ code: 0 });
    expect(booked()).toBe(2);
  });

  it("--corrects: replaces rejected lines and adds new ones", async () => {
    const { send, booked, keys } = await importing();
    await send("day.csv", FIRST);
    const corrected = "1,BOLT-M8,5,1,1\n2,BOLT-M8,7,1,1\n3,BOLT-M8,1,1,1";
    const { code, err } = await send("day.csv", corrected, "--corrects");
    expect(err).toMatch(/corrects the import of .*: 1 unchanged, 1 added, 1 replaced\./);
    expect(code).toBe(0);
    expect(await keys()).toEqual(["day.csv:2 applied", "day.csv:3 applied", "day.csv:4 applied"]);
    expect(booked()).toBe(3);
    expect(await send("day.csv", corrected, "--corrects")).toMatchObject({ code: 3 });
  });

  it("--corrects: refuses a file of which nothing was imported: its name may be another one", async () => {
    const { send, booked } = await importing();
    await send("day.csv", FIRST);
    const renamed = await send("day corrected.csv", FIRST, "--corrects");
    expect(renamed).toMatchObject({ code: 2, err: expect.stringContaining("there is nothing to correct") });
    expect(booked()).toBe(1);
  });

  it("--corrects: refuses lines that were applied and have changed, or are missing", async () => {
    const { send, booked } = await importing();
    await send("day.csv", FIRST);
    const { code, err } = await send("day.csv", "1,BOLT-M8,6,1,1", "--corrects");
    expect(code).toBe(2);
    expect(err).toMatch(/line 2: "day\.csv:2" was changed, but it is applied, not rejected/);
    expect(err).toMatch(/"day\.csv:3" is missing in the file; it is rejected/);
    expect(booked()).toBe(1);
  });

  it("--key: new keys are added, known ones are not sent again, and changed ones are refused", async () => {
    const { send, booked } = await importing();
    await send("a.csv", "1,BOLT-M8,5,1,1", "--key", "id");
    expect(await send("b.csv", "1,BOLT-M8,5,1,1\n2,BOLT-M8,1,1,1", "--key", "id")).toMatchObject({ code: 0 });
    expect(booked()).toBe(2);
    const refused = await send("c.csv", "2,BOLT-M8,9,1,1\n3,BOLT-M8,1,1,1", "--key", "id");
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("Give changed lines a key of their own") });
    expect(booked()).toBe(2);
  });
});

describe("a line", () => {
  it.each([
    ["a SKU with a trailing space", '1,"BOLT-M8 ",5,1,1', "must not begin or end with a space"],
    ["a SKU with an unusual space at its end", "1,BOLT-M8\u00a0,5,1,1", "must not begin or end with a space"],
    ["a SKU with an invisible space", "1,BOLT\u200b-M8,5,1,1", "invisible or unusual spaces"],
    ["a SKU with a line break", '1,"BOLT\nM8",5,1,1', "line breaks"],
    ["another line end", "1,BOLT-M8,5,1,1\r2,BOLT-M8,5,1,1", "different ways"],
  ])("with %s is refused, and nothing is sent", async (_, lines, message) => {
    const { send, sandbox } = await importing();
    const { code, err } = await send("f.csv", lines);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
    expect(sandbox.requests).toEqual([]);
  });
});
