import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { run, serve } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-import-"));
afterAll(() => rmSync(directory, { recursive: true }));
let files = 0;

function csvFile(text: string | Buffer): { file: string; outbox: string } {
  files += 1;
  const file = join(directory, `${files}.csv`);
  writeFileSync(file, text);
  return { file, outbox: join(directory, `${files}.db`) };
}

const HEADER = "itemID,units,wid,reasonCode,remark";
const receive = ({ file, outbox }: { file: string; outbox: string }, ...more: string[]) => [
  "import",
  file,
  "--operation",
  "receive",
  "--outbox",
  outbox,
  ...more,
];

// Each command is a process of its own, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

describe("stocklot import", () => {
  it("books each line once, also when it is run again", async () => {
    const { sandbox, env } = await serve();
    const given = csvFile(`${HEADER}\nBOLT-M8,5,1,1,first\nBOLT-M8,5,1,1,first\n"BOLT-M8",2.5,1,1,"a, b"\n`);
    const { code, out } = await run(receive(given), env);
    expect(code).toBe(0);
    expect(out).toBe("This run: 3 lines applied, 0 rejected, 0 unknown; 3 requests.\n");
    const again = await run(receive(given), env);
    expect(again).toMatchObject({
      code: 3,
      out: expect.stringMatching(
        /^\S+\.csv: imported on \S+Z\. Nothing was sent\.\n3 lines: 3 applied, 0 rejected, 0 canceled\.\n$/,
      ),
    });
    const booked = sandbox.requests.filter(({ path }) => path === "/Inventory/Receive");
    expect(booked.map(({ body }) => body)).toMatchObject([
      { units: 5 },
      { units: 5 },
      { units: 2.5, remark: expect.stringMatching(/ a, b$/) },
    ]);
  });

  it("reports every wrong line with its number, and sends nothing", async () => {
    const { sandbox, env } = await serve();
    const given = csvFile(`${HEADER}\nBOLT-M8,5,1,1,ok\nBOLT-M8,none,1,1,x\n,5,1,1,x\n"two\nlines",-1,1,1,x\n`);
    const { code, err } = await run(receive(given), env);
    expect(code).toBe(2);
    expect(err).toMatch(/line 3: units/);
    expect(err).toMatch(/line 4: itemID/);
    expect(err).toMatch(/line 6: units/);
    expect(err).toContain("3 of 4 lines are invalid; nothing was sent.");
    expect(sandbox.requests).toEqual([]);
  });

  it("refuses what it cannot read twice, and what is missing", async () => {
    const { sandbox, env } = await serve();
    const given = csvFile(`${HEADER}\nBOLT-M8,5,1,1,ok\n`);
    for (const [file, reason] of [
      ["/dev/null", "must be a file"],
      [directory, "must be a file"],
      [join(directory, "missing.csv"), "no such file"],
    ] as const) {
      const { code, err } = await run(receive({ ...given, file }), env);
      expect(err).toMatch(new RegExp(`^stocklot: ${file}:? .*${reason}.*\\n$`));
      expect(code).toBe(2);
    }
    expect(sandbox.requests).toEqual([]);
  });

  it("refuses a number that has more digits than can be sent", async () => {
    const { env } = await serve();
    const given = csvFile(
      `${HEADER}\nBOLT-M8,99999999999999999999,1,1,x\nBOLT-M8,0.10,1,1,x\nBOLT-M8,1.${"1".repeat(20)},1,1,x\n`,
    );
    const { code, err } = await run(receive(given, "--dry-run"), env);
    expect(code).toBe(2);
    expect(err).toMatch(/line 2: units must be a number, not "9{20}": it has more digits than a number keeps/);
    expect(err).toMatch(/line 4: units must be a number, .* more digits/);
    expect(err).toContain("2 of 3 lines are invalid");
  });

  it("reads a BOM, Windows line ends, another delimiter and other names", async () => {
    const { sandbox, env } = await serve();
    const given = csvFile("\uFEFFArticle;Quantity;wid;reasonCode\r\nBOLT-M8;5;1;1\r\n");
    const map = ["--map", "Article=itemID", "--map", "Quantity=units", "--delimiter", ";"];
    expect((await run(receive(given, ...map), env)).code).toBe(0);
    expect(sandbox.requests.at(-1)?.body).toMatchObject({ itemID: "BOLT-M8", units: 5 });
  });

  it("answers three questions in order: what happened, what needs a person, what is still open", async () => {
    const details = { itemID: ["Item 'NOPE'\ndoes not exist."], units: ["Too many."] };
    const body = { statusCode: 400, error: "validation_error", message: "Model validation failed.", details };
    const { env } = await serve({
      faults: [
        { path: "/Inventory/Receive", times: 1, fault: { type: "status", status: 400, body } },
        { path: "/Inventory/Receive", skip: 1, times: 1, fault: "drop-after" },
      ],
    });
    const given = csvFile(`${HEADER}\nNUT,1,1,1,x\nBOLT-M8,2,1,1,x\nBOLT-M8,3,1,1,x\nBOLT-M8,4,1,1,x\n`);
    const args = receive(given, "--mark", "none", "--settle", "300ms", "--timeout", "300ms", "--delivery", "day");
    const { code, out } = await run(args, env);
    expect(code).toBe(1);
    const [happened, needs, open] = out.split("\n\n");
    expect(happened).toMatch(/^This run: 1 line applied, 1 rejected, 1 unknown; \d+ requests\.$/);
    expect(needs).toMatch(
      /^Needs you:\n {2}line 2 is rejected: .* 400 Model validation failed\. itemID: Item 'NOPE' does not exist\. units: Too many\.\n/,
    );
    expect(needs).toContain(`to drop it: stocklot outbox cancel ${given.outbox} day:2\n`);
    expect(needs).toContain(`stocklot outbox show ${given.outbox} day:4\n`);
    expect(needs).toContain(`Correct rejected lines in the file, then:\n    stocklot ${args.join(" ")} --corrects`);
    expect(open).toMatch(/^Still open: 1 line\. Those behind an unknown one .*\n {2}stocklot import /);
  });

  it.each([
    [],
    ["--key", "no"],
  ])("reports the lines of this file, not those of an earlier import %j", async (...key) => {
    const { env } = await serve();
    const header = `${HEADER},${key.length > 0 ? "no" : "reference"}`;
    const first = csvFile(`${header}\nNO-SUCH,5,1,1,x,a\n`);
    const second = { ...csvFile(`${header}\nBOLT-M8,5,1,1,x,b\n`), outbox: first.outbox };
    expect(await run(receive(first, ...key), env)).toMatchObject({ code: 1, out: expect.stringContaining("NO-SUCH") });
    const { code, out } = await run(receive(second, ...key), env);
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^This run: 1 line applied, 0 rejected, 0 unknown; 1 request\.\n$/),
    });
    const again = await run(receive(first, ...key, "--json"), env);
    expect(JSON.parse(again.out)).toMatchObject({ open: [{ state: "rejected", input: { itemID: "NO-SUCH" } }] });
  });

  it("prints JSON: of a dry run, of wrong lines and of a run", async () => {
    const { env } = await serve();
    const valid = csvFile(`${HEADER}\nBOLT-M8,5,1,1,x\nNO-SUCH,5,1,1,x\n`);
    const wrong = csvFile(`${HEADER}\nBOLT-M8,5,1,1,x\nBOLT-M8,-5,1,1,x\n`);
    const [dryRun, invalid] = await Promise.all([
      run(receive(valid, "--dry-run", "--json"), {}),
      run(receive(wrong, "--json"), {}),
    ]);
    expect({ ...dryRun, out: JSON.parse(dryRun.out) }).toEqual({
      code: 0,
      err: "",
      out: { lines: 2, invalid: 0, problems: [] },
    });
    expect({ code: invalid.code, out: JSON.parse(invalid.out) }).toEqual({
      code: 2,
      out: {
        lines: 2,
        invalid: 1,
        problems: [{ line: 3, problems: [expect.stringMatching(/^units: Too small/)] }],
      },
    });
    const { code, out } = await run(receive(valid, "--json"), env);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ applied: 1, rejected: 1, open: [{ state: "rejected" }] });
  });

  it.each([
    ["semicolons", "itemID;units;wid;reasonCode\r\nBOLT-M8;5;1;1\r\n", /are separated by ";", add --delimiter ";"/],
    ["tabs", "itemID\tunits\twid\treasonCode\r\nBOLT-M8\t5\t1\t1\r\n", /are separated by tabs, add --delimiter tab/],
    ["a line for Excel", "sep=;\r\nitemID;units;wid;reasonCode\r\n", /Remove the first line, "sep=;"/],
    [
      "a misspelt column",
      "itemid,units,wid,reasonCode\nB,1,1,1\n",
      /unknown columns: "itemid" \(did you mean "itemID"\?\)/,
    ],
    [
      "a decimal comma",
      'itemID,units,wid,reasonCode\nB,"2,5",1,1\n',
      /line 2: units must be a number, not "2,5": write 2\.5$/m,
    ],
    [
      "separators of thousands",
      'itemID,units,wid,reasonCode\nB,"1,000",1,1\n',
      /not "1,000": write 1000 if the comma separates thousands, 1\.000 if it is a decimal one$/m,
    ],
    [
      "lines that end in different ways",
      "itemID,units,wid,reasonCode\r\nB,1,1,1\nB,1,1,1\r\n",
      /line 3: the lines end in different ways/,
    ],
    ["columns that are missing", "itemID,units\nB,1\nB,2\n", /no column for wid, reasonCode/],
    ["a row with too few cells", `${HEADER}\nBOLT-M8,5\n`, /line 2: 2 cells, but the header has 5/],
    ["two columns of one name", `${HEADER},itemID\nBOLT-M8,5,1,1,x,NUT\n`, /two columns are called "itemID"/],
    ["another encoding", Buffer.from(`${HEADER}\nBOLT-M8,5,1,1,Gr\u00fc\u00dfe\n`, "latin1"), /line 2: is not UTF-8/],
    ["an empty file", "", /has no lines/],
  ])("says what to do about %s", async (_, text, message) => {
    const { code, err } = await run(receive(csvFile(text), "--dry-run"), {});
    expect(code).toBe(2);
    expect(err).toMatch(message);
    expect(err.trimEnd().split("\n").length).toBeLessThanOrEqual(2);
  });

  it("reads tabs and UTF-16, as Excel writes them", async () => {
    const text = "\uFEFFitemID\tunits\twid\treasonCode\tremark\r\nBOLT-M8\t2.5\t1\t1\tGr\u00fc\u00dfe\r\n";
    for (const delimiter of ["tab", "\\t", "\t"]) {
      const args = receive(csvFile(Buffer.from(text, "utf16le")), "--delimiter", delimiter, "--dry-run");
      expect(await run(args, {})).toMatchObject({ code: 0, out: "1 line is valid.\n", err: "" });
    }
  });

  it.each([
    ["a mapped column that does not exist", ["--map", "Article=itemID"], /--map: there is no column "Article"/],
    ["a column of keys that does not exist", ["--key", "refrence"], /--key: there is no column "refrence"/],
    ["two columns of one field", ["--map", "remark=itemID"], /the columns "itemID" and "remark" are both itemID/],
  ])("refuses %s", async (_, options, message) => {
    const { code, err } = await run(receive(csvFile(`${HEADER}\nB,1,1,1,x\n`), "--dry-run", ...options), {});
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });
});
