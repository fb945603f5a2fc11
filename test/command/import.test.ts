import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import type { SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { commandFiles, receiptsIn, run, runProcess, serve } from "./support/run-command.js";

const fileNamed = commandFiles();
const HEADER = "itemID,units,wid,reasonCode,remark\n";
let outboxes = 0;

/** Creates a service and an outbox, with functions that import files as receipts. */
async function importing(options: SandboxOptions = {}) {
  const { sandbox, env } = await serve(options);
  outboxes += 1;
  const outbox = fileNamed(`${outboxes}.db`);
  const argsOf = (name: string, text: string | Buffer, ...more: string[]) => [
    ...["import", fileNamed(name, text), "--operation", "receive", "--outbox", outbox],
    ...more,
  ];
  return {
    sandbox,
    env,
    outbox,
    argsOf,
    send: (...given: Parameters<typeof argsOf>) => run(argsOf(...given), env),
    receipts: () => receiptsIn(sandbox),
    entries: async (): Promise<string[]> => {
      const { out } = await run(["outbox", "list", outbox, "--json"], {});
      return JSON.parse(out).map(({ key, state }: { key: string; state: string }) => `${key} ${state}`);
    },
  };
}

describe("stocklot import", () => {
  it("books each line once, also when it is run again", async () => {
    const { send, receipts } = await importing();
    const lines = `${HEADER}BOLT-M8,5,1,1,first\nBOLT-M8,5,1,1,first\n"BOLT-M8",2.5,1,1,"a, b"\n`;
    expect(await send("day.csv", lines)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^This run: 3 lines applied, 0 rejected, 0 unknown; \d+ requests\.\n$/),
    });
    expect(await send("day.csv", lines)).toMatchObject({
      code: 3,
      out: expect.stringMatching(
        /^\S+\.csv: imported on \S+Z\. Nothing was sent\.\n3 lines: 3 applied, 0 rejected, 0 canceled\.\n$/,
      ),
    });
    expect(receipts()).toMatchObject([
      { units: 5 },
      { units: 5 },
      { units: 2.5, remark: expect.stringMatching(/ a, b$/) },
    ]);
  });

  it("reports every wrong line with its number, and sends nothing", async () => {
    const { send, sandbox } = await importing();
    const lines = 'BOLT-M8,5,1,1,ok\nBOLT-M8,none,1,1,x\n,5,1,1,x\n"two\nlines",-1,1,1,x\n';
    const { code, err } = await send("day.csv", HEADER + lines);
    expect(code).toBe(2);
    for (const problem of ["line 3: units", "line 4: itemID", "line 6: units"]) expect(err).toContain(problem);
    expect(err).toContain("3 of 4 lines are invalid; nothing was sent.");
    expect(sandbox.requests).toEqual([]);
  });

  it("says once what is wrong with a whole column", async () => {
    const { send } = await importing();
    const lines = Array.from({ length: 80 }, (_, index) => `BOLT-M8,"${index},5",1,1,x\n`).join("");
    const { err } = await send("day.csv", HEADER + lines);
    expect(err).toBe(
      'line 2, as in all 80 lines: units must be a number, not "0,5": write 0.5, or add --decimal ,\n' +
        "stocklot: 80 of 80 lines are invalid; nothing was sent.\n",
    );
    const one = await send("day.csv", `${HEADER}${lines}BOLT-M8,5,1,1,x\n`);
    expect(one.err.split("\n")).toHaveLength(52);
  });

  it("reads a BOM, Windows line ends, another delimiter and other names", async () => {
    const { send, receipts } = await importing();
    const lines = "\uFEFFArticle;Quantity;wid;reasonCode\r\nBOLT-M8;5;1;1\r\n";
    const options = ["--map", "Article=itemID", "--map", "Quantity=units", "--delimiter", ";"];
    expect(await send("day.csv", lines, ...options)).toMatchObject({ code: 0 });
    expect(receipts()).toMatchObject([{ itemID: "BOLT-M8", units: 5 }]);
  });

  it("reads tabs and UTF-16, as Excel writes them", async () => {
    const { send } = await importing();
    const text = "\uFEFFitemID\tunits\twid\treasonCode\tremark\r\nBOLT-M8\t2.5\t1\t1\tGr\u00fc\u00dfe\r\n";
    for (const delimiter of ["tab", "\\t", "\t"]) {
      const ended = await send("day.csv", Buffer.from(text, "utf16le"), "--delimiter", delimiter, "--dry-run");
      expect(ended).toMatchObject({
        code: 0,
        out: expect.stringMatching(/\n1 line, 1 SKU, units: 2\.5 EA\. Nothing /),
        err: "",
      });
    }
  });

  it.each([
    ["day.ndjson", []],
    ["day.jsonl", []],
    ["day.txt", ["--format", "ndjson"]],
  ])("reads NDJSON: %s %j", async (name, format) => {
    const { send, receipts, entries } = await importing();
    const lines = [
      '\uFEFF{"Article":"BOLT-M8","units":0.1,"wid":1,"reasonCode":1,"remark":null}',
      "",
      '{"remark":"5","Article":"BOLT-M8","units":2,"wid":1,"reasonCode":1}',
    ];
    const options = [...format, "--map", "Article=itemID", "--mark", "none"];
    expect(await send(name, lines.join("\r\n"), ...options)).toMatchObject({ code: 0 });
    const common = { itemID: "BOLT-M8", wid: 1, reasonCode: 1 };
    expect(receipts()).toEqual([
      { ...common, units: 0.1 },
      { ...common, units: 2, remark: "5" },
    ]);
    expect(await entries()).toEqual([`${name}:1 applied`, `${name}:3 applied`]);
  });

  it("--set sets fields of every line, --ignore leaves columns out", async () => {
    const { send, receipts } = await importing();
    const set = ["wid=1", "reasonCode=1", "remark=a=b"].flatMap((text) => ["--set", text]);
    const ignored = ["--ignore", "colour", "--ignore", "wid"];
    const lines = "itemID,units,colour,wid\nBOLT-M8,5,red,7\n";
    expect(await send("day.csv", lines, ...set, ...ignored, "--mark", "none")).toMatchObject({ code: 0 });
    expect(receipts()).toEqual([{ itemID: "BOLT-M8", units: 5, wid: 1, reasonCode: 1, remark: "a=b" }]);
  });

  it("discontinues items", async () => {
    const { send, sandbox } = await importing();
    const options = ["--operation", "discontinue", "--ignore", "reason"];
    expect(await send("old.csv", "shortID,reason\nBOLT-M8,old\n", ...options)).toMatchObject({ code: 0 });
    expect(sandbox.requests.at(-1)).toMatchObject({ method: "DELETE", path: "/Item/BOLT-M8", status: 200 });
  });

  it("reads standard input, and keeps no copy of it", async () => {
    const { env, outbox, receipts } = await importing();
    const file = fileNamed("piped.csv", `${HEADER}BOLT-M8,5,1,1,x\n`);
    const temporary = dirname(fileNamed("temporary/file"));
    const piped = (...more: string[]) => {
      const args = ["import", "-", "--operation", "receive", "--outbox", outbox, ...more];
      return runProcess(args, { ...env, TMPDIR: temporary }, undefined, ["sh", "-c", `cat ${file} | "$@"`, "sh"]);
    };
    expect(await piped()).toMatchObject({ code: 2, err: expect.stringContaining("standard input has no name") });
    expect(await piped("--delivery", "monday")).toMatchObject({ code: 0 });
    expect(await piped("--delivery", "monday")).toMatchObject({ code: 3 });
    expect(await piped("--delivery", "tuesday")).toMatchObject({ code: 0 });
    expect(receipts()).toHaveLength(2);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("answers three questions in order: what happened, what needs a person, what is still open", async () => {
    const details = { itemID: ["Item 'NOPE'\ndoes not exist."], units: ["Too many."] };
    const body = { statusCode: 400, error: "validation_error", message: "Model validation failed.", details };
    const { env, outbox, argsOf } = await importing({
      faults: [
        { path: "/Inventory/Receive", times: 1, fault: { type: "status", status: 400, body } },
        { path: "/Inventory/Receive", skip: 1, times: 1, fault: "drop-after" },
      ],
    });
    const lines = `${HEADER}NUT,1,1,1,x\nBOLT-M8,2,1,1,x\nBOLT-M8,3,1,1,x\nBOLT-M8,4,1,1,x\n`;
    const options = ["--mark", "none", "--settle", "300ms", "--timeout", "300ms", "--delivery", "day"];
    const args = argsOf("day.csv", lines, ...options);
    const { code, out } = await run(args, env);
    expect(code).toBe(1);
    const [happened, needs, open] = out.split("\n\n");
    expect(happened).toMatch(/^This run: 1 line applied, 1 rejected, 1 unknown; \d+ requests\.$/);
    expect(needs).toMatch(
      /^Needs you:\n {2}line 2 is rejected: .* 400 Model validation failed\. itemID: Item 'NOPE' does not exist\. units: Too many\.\n/,
    );
    expect(needs).toContain(`to drop it: stocklot outbox cancel ${outbox} day:2\n`);
    expect(needs).toContain(`stocklot outbox show ${outbox} day:4\n`);
    expect(needs).toContain(`Correct rejected lines in the file, then:\n    stocklot ${args.join(" ")} --corrects`);
    expect(open).toMatch(/^Still open: 1 line\. Lines after an unknown line .*\n {2}stocklot import /);
  });

  it.each([
    [],
    ["--key", "no"],
  ])("reports the lines of this file, not those of an earlier import %j", async (...key) => {
    const { send } = await importing();
    const header = `${HEADER.trim()},${key.length > 0 ? "no" : "reference"}\n`;
    const [first, second] = [`${header}NO-SUCH,5,1,1,x,a\n`, `${header}BOLT-M8,5,1,1,x,b\n`];
    const out = expect.stringContaining("NO-SUCH");
    expect(await send("first.csv", first, ...key)).toMatchObject({ code: 1, out });
    expect(await send("second.csv", second, ...key)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^This run: 1 line applied, 0 rejected, 0 unknown; \d+ requests?\.\n$/),
    });
    const again = await send("first.csv", first, ...key, "--json");
    expect(JSON.parse(again.out)).toMatchObject({ open: [{ state: "rejected", input: { itemID: "NO-SUCH" } }] });
  });

  it("prints JSON: of a dry run, of wrong lines and of a run", async () => {
    const { send } = await importing();
    const lines = `${HEADER}BOLT-M8,5,1,1,x\nNO-SUCH,5,1,1,x\n`;
    const json = async (...given: Parameters<typeof send>) => {
      const { code, out } = await send(...given, "--json");
      return { code, ...JSON.parse(out) };
    };
    const unknown = { line: 3, problems: ['the item "NO-SUCH" does not exist'] };
    expect(await json("day.csv", lines, "--dry-run")).toMatchObject({
      code: 1,
      lines: 2,
      invalid: 0,
      problems: [unknown],
    });
    const problems = [{ line: 3, problems: [expect.stringMatching(/^units: Too small/)] }];
    const invalid = { code: 2, lines: 2, invalid: 1, problems };
    expect(await json("wrong.csv", lines.replace("NO-SUCH,5", "NO-SUCH,-5"))).toEqual(invalid);
    const report = { code: 1, applied: 1, rejected: 1, open: [{ state: "rejected" }] };
    expect(await json("day.csv", lines)).toMatchObject(report);
  });

  it("refuses the outbox of another service, also if all its lines are settled there", async () => {
    const { send, argsOf } = await importing();
    const other = await serve();
    const given = ["day.csv", `${HEADER}BOLT-M8,5,1,1,x\n`] as const;
    expect(await send(...given)).toMatchObject({ code: 0 });
    const err = expect.stringContaining("belongs to the service");
    expect(await run(argsOf(...given), other.env)).toMatchObject({ code: 2, err });
    expect(other.sandbox.requests).toEqual([]);
  });

  it("of a file twice at once reports each line once", async () => {
    const { argsOf, env, receipts } = await importing();
    const lines = HEADER + "BOLT-M8,1,1,1,x\n".repeat(20);
    const args = argsOf("day.csv", lines, "--json");
    const both = await Promise.all([runProcess(args, env), runProcess(args, env)]);
    expect(both.map(({ out }) => JSON.parse(out).applied ?? 0).reduce((sum, applied) => sum + applied)).toBe(20);
    expect(receipts()).toHaveLength(20);
  });
});

describe("the keys of an import", () => {
  it("are unlike for all lines of all deliveries, whatever their names and values contain", async () => {
    const { send, receipts, entries } = await importing();
    const imports: [string, ...string[]][] = [
      ["27/1", "--delivery", "2026/11", "--key", "id"],
      ["1", "--delivery", "2026/11/27", "--key", "id"],
      ["PO-1/id=1", "--key", "id"],
      ["1", "--delivery", "PO-1", "--key", "id"],
      ["week48:2", "--key", "id"],
      ["1", "--delivery", "week48", "--ignore", "id"],
    ];
    for (const [id, ...more] of imports)
      expect(await send("f.csv", `id,${HEADER}${id},BOLT-M8,5,1,1,x\n`, ...more)).toMatchObject({ code: 0 });
    expect(receipts()).toHaveLength(imports.length);
    expect(await entries()).toEqual([
      "2026%2F11/id=27%2F1 applied",
      "2026%2F11%2F27/id=1 applied",
      "id=PO-1%2Fid%3D1 applied",
      "PO-1/id=1 applied",
      "id=week48%3A2 applied",
      "week48:2 applied",
    ]);
  });

  it("of an NDJSON file are strings or numbers", async () => {
    const { send, entries } = await importing();
    const lines = ['"9007199254740993"', "17"].map(
      (doc) => `{"itemID":"BOLT-M8","units":1,"wid":1,"reasonCode":1,"doc":${doc}}`,
    );
    expect(await send("keys.ndjson", lines.join("\n"), "--key", "doc")).toMatchObject({ code: 0 });
    expect(await entries()).toEqual(["doc=9007199254740993 applied", "doc=17 applied"]);
  });
});

describe("a file that is imported again", () => {
  const FIRST = "BOLT-M8,5,1,1,x\nNO-SUCH,7,1,1,x\n";

  /** Imports a file once. `day` imports further contents under the same file name. */
  async function again() {
    const { send, ...others } = await importing();
    const day = (lines: string, ...more: string[]) => send("day.csv", HEADER + lines, ...more);
    await day(FIRST);
    return { send, day, ...others };
  }

  it("with other or further lines is refused, with the two choices", async () => {
    const { day, receipts, entries } = await again();
    for (const lines of [FIRST.replace("5", "6"), `${FIRST}BOLT-M8,1,1,1,x\n`]) {
      const err = expect.stringMatching(/name it with --delivery.*add --corrects/s);
      expect(await day(lines)).toMatchObject({ code: 2, err });
    }
    expect(receipts()).toHaveLength(1);
    expect(await entries()).toHaveLength(2);
    expect(await day("BOLT-M8,6,1,1,x\n", "--delivery", "another")).toMatchObject({ code: 0 });
    expect(receipts()).toHaveLength(2);
  });

  it("--corrects: replaces rejected lines and adds new ones", async () => {
    const { day, receipts, entries } = await again();
    const corrected = "BOLT-M8,5,1,1,x\nBOLT-M8,7,1,1,x\nBOLT-M8,1,1,1,x\n";
    const err = expect.stringMatching(/corrects the import of .*: 1 unchanged, 1 added, 1 replaced\./);
    expect(await day(corrected, "--corrects")).toMatchObject({ code: 0, err });
    expect(await entries()).toEqual(["day.csv:2 applied", "day.csv:3 applied", "day.csv:4 applied"]);
    expect(receipts()).toHaveLength(3);
    expect(await day(corrected, "--corrects")).toMatchObject({ code: 3 });
  });

  it("--corrects: refuses a file of which nothing was imported, and lines that were applied and have changed, or are missing", async () => {
    const { day, send, receipts } = await again();
    const renamed = await send("day corrected.csv", HEADER + FIRST, "--corrects");
    expect(renamed).toMatchObject({ code: 2, err: expect.stringContaining("there is nothing to correct") });
    const { code, err } = await day("BOLT-M8,6,1,1,x\n", "--corrects");
    expect(code).toBe(2);
    expect(err).toMatch(/line 2: "day\.csv:2" was changed, but it is applied, not rejected/);
    expect(err).toMatch(/"day\.csv:3" is missing in the file; it is rejected/);
    expect(receipts()).toHaveLength(1);
  });

  it("--key: new keys are added, known ones are not sent again, and changed ones are refused", async () => {
    const { send, receipts } = await importing();
    const keyed = (name: string, lines: string) => send(name, `id,${HEADER}${lines}`, "--key", "id");
    await keyed("a.csv", "1,BOLT-M8,5,1,1,x\n");
    expect(await keyed("b.csv", "1,BOLT-M8,5,1,1,x\n2,BOLT-M8,1,1,1,x\n")).toMatchObject({ code: 0 });
    expect(receipts()).toHaveLength(2);
    const err = expect.stringContaining("Give changed lines a key of their own");
    expect(await keyed("c.csv", "2,BOLT-M8,9,1,1,x\n3,BOLT-M8,1,1,1,x\n")).toMatchObject({ code: 2, err });
    expect(receipts()).toHaveLength(2);
  });
});
