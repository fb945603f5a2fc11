import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../support/own-folder.js";
import { commandFiles, run, serve } from "./support/run-command.js";

const file = ownFolder();

/** Runs a command that must end before its first request. Returns its exit code and its standard error. */
async function refused(args: readonly string[]): Promise<{ code: number | null; err: string }> {
  const { code, err } = await run(args, {
    STOCKLOT_BASE_URL: "http://127.0.0.1:1/api/v1",
    STOCKLOT_CLIENT_ID: "nobody",
    STOCKLOT_CLIENT_SECRET: "secret-of-nobody",
  });
  return { code, err };
}

describe("an unknown option", () => {
  it.each([
    [["import", "x.csv", "--operation", "receive", "--outbx", "outbox.db"], "'--outbx'\n(Did you mean --outbox?)\n"],
    [["import", "x.csv", "--operatoin=receive"], "'--operatoin'\n(Did you mean --operation?)\n"],
    [["import", "--outbx", "outbox.db"], "'--outbx'\n(Did you mean --outbox?)\n"],
    [["export", "lots", "--format", "csv", "--ouput=canary.csv"], "'--ouput'\n(Did you mean --output?)\n"],
    [["doctor", "--dry-run"], "'--dry-run'\n"],
  ])("is suggested, also where a required option is missing: %j", async (args, message) => {
    expect(await refused(args)).toEqual({ code: 2, err: `error: unknown option ${message}Try --help.\n` });
  });

  const SECRET =
    "'--client-?[sS]ecret': the secret must not be an argument, since others can see it\\. Use STOCKLOT_CLIENT_SECRET or --client-secret-file\\.";
  it.each([
    [["doctor", "--canary7e5a"], ", not shown because it may be a secret"],
    [["--canary", "doctor"], ", not shown because it may be a secret"],
    [["export", "lots", "--json-canary-canary"], ", not shown because it may be a secret"],
    [["doctor", "--canary'\n(Did you mean --canary?)"], ", not shown because it may be a secret"],
    [["doctor", "--client-secret=canary-secret"], ` ${SECRET}`],
    [["doctor", "--client-secret", "canary-secret"], ` ${SECRET}`],
    [["doctor", "--client-secret=canary'secret\n(Did you mean canary?)"], ` ${SECRET}`],
    [["import", "--client-secret", "canary-secret", "file.csv"], ` ${SECRET}`],
    [["sandbox", "--client-secret=canary-secret"], ` ${SECRET}`],
    [["--client-secret=canary-secret", "doctor"], ` ${SECRET}`],
  ])("may be a secret, so that it is not shown: %j", async (args, message) => {
    const { code, err } = await refused(args);
    expect(code).toBe(2);
    expect(err).toMatch(new RegExp(`^error: unknown option${message}\n`));
    expect(err).not.toContain("canary");
  });

  it("does not replace another error", async () => {
    const { err } = await refused(["import", "x.csv", "--outbox", "x.db"]);
    expect(err).toMatch(/^error: required option '--operation <name>'/);
    const other = await refused(["doctor", "--rate-limit", "x", "--jsn"]);
    expect(other.err).toMatch(/^error: option '--rate-limit <n>'/);
  });
});

describe("wrong arguments", () => {
  const EXPORT = ["export", "lots"];
  const MIRROR = ["mirror", "--sqlite", "a"];
  it.each<[string[], string | RegExp]>([
    [["get", ""], "must not be empty"],
    [["export", "orders"], "items, lots, stock-levels"],
    [["export", "items", "--wid", "3"], "--wid does not apply"],
    [[...EXPORT, "--since", "2025-02-30"], /--since <date>' argument '2025-02-30' .* The date does not exist\./],
    [[...EXPORT, "--since", "2025-01-31 10:00"], /--since .* ISO 8601/],
    [["outbox", "list", "host=127.0.0.1 dbname=x password=canary"], "the outbox looks like the address of a database."],
    [
      ["outbox", "list", "mysql://u:canary@host/db"],
      "the outbox looks like the address of a database (mysql://…@host/db).",
    ],
    [
      ["mirror", "--sqlite", " postgres://u:canary@host/db"],
      "--sqlite looks like the address of a database (postgres://…@host/db).",
    ],
    [[...EXPORT, "--output", ""], /--output <file>' argument '' .* It must be the name of a file\./],
    [[...EXPORT, "--format", "xml"], "csv, ndjson."],
    [[...EXPORT, "--wid", "x"], "integer"],
    [
      [...EXPORT, "-o", "y.xlsx"],
      /^stocklot: --output: \.xlsx is not .* must end with \.csv or \.ndjson; .* --format\.\n$/,
    ],
    [[...EXPORT, "--response-validation", "none"], "Allowed choices are error, warn, off"],
    [["mirror"], "--sqlite or --postgres is required"],
    [[...MIRROR, "--postgres", "b"], "cannot be used with"],
    [[...MIRROR, "--watch", "often"], "duration"],
    [[...MIRROR, "--watch", "5m", "--full"], "cannot be used with"],
    [[...MIRROR, "--warehouses", "x"], "integer"],
    [[...MIRROR, "--history", "0"], "--history"],
    [[...MIRROR, "--max-lag", "1h"], "--max-lag"],
    [["mirror", "--postgres", "garbage password=canary"], /--postgres must be an address such as [^\n]*\n$/],
    [["outbox", "list", "o.db", "a"], "too many arguments"],
    [["outbox", "show", "o.db", "a", "--state", "unknown"], "unknown option '--state'"],
    [["outbox", "lst", "o.db"], "unknown command 'lst'\n(Did you mean list?)"],
    [["plan", "items", "x.csv", "--owns", "category=12", "--owns", "category=13"], "category is given twice"],
    [["plan", "items", "no-such.csv"], "no-such.csv: no such file"],
    [["sandbox", "--from", "a", "--items", "3"], "--items"],
    ...["", "\uFEFF", "\n"].map((text, index): [string[], RegExp] => [
      ["doctor", "--client-secret-file", file(`secret-${index}`, text)],
      /^stocklot: --client-secret-file: \S+ is empty\.\n$/,
    ]),
  ])("are refused: %j", async (args, message) => {
    const { code, err } = await refused(args);
    expect(err).toMatch(message);
    expect(err).not.toMatch(/canary|\n {4}at /);
    expect(code).toBe(2);
  });

  it.each([
    "postgres://stock:canary@db/stock",
    "postgres://stock:%63anary@db/stock",
    "postgres://stock@db/stock?password=canary",
    "socket:/var/run?db=stock&password=canary",
  ])("must not contain the password of a database, which is not shown: %s", async (address) => {
    const err = " must not contain a password, since others can see it. Put it into PGPASSWORD or a .pgpass file.\n";
    for (const more of [[], ["--status"], ["--watch", "1h"]])
      expect(await refused(["mirror", "--postgres", address, ...more])).toEqual({
        code: 2,
        err: `stocklot: --postgres${err}`,
      });
    const csv = file("x.csv", "itemID,units,wid,reasonCode\nBOLT-M8,1,1,1\n");
    const imported = ["import", csv, "--operation", "receive", "--outbox", address];
    for (const args of [["outbox", "list", address], imported]) {
      const ended = await refused(args);
      expect(ended).toEqual({ code: 2, err: expect.stringContaining(err) });
      expect(ended.err).not.toContain("canary");
    }
  });
});

describe("a file to import", () => {
  const HEADER = "itemID,units,wid,reasonCode,remark\n";
  const THREE = ["--set", "wid=1", "--set", "reasonCode=1"];
  it.each<[string | Buffer, string[], string | RegExp]>([
    // Problems of the file as a whole.
    ["itemID;units;wid;reasonCode\r\nBOLT-M8;5;1;1\r\n", [], 'are separated by ";", add --delimiter ";"'],
    ["itemID\tunits\twid\treasonCode\r\nB\t5\t1\t1\r\n", [], "are separated by tabs, add --delimiter tab"],
    ["sep=;\r\nitemID;units;wid;reasonCode\r\n", [], 'Remove the first line, "sep=;"'],
    ["itemid,units,wid,reasonCode\nB,1,1,1\n", [], 'unknown columns: "itemid" (did you mean "itemID"?)'],
    ["itemID,units\nB,1\nB,2\n", [], "no column for wid, reasonCode"],
    [`${HEADER.trim()},itemID\nBOLT-M8,5,1,1,x,NUT\n`, [], 'two columns are called "itemID"'],
    [`${HEADER.replace("\n", "\r\n")}B,1,1,1,x\nB,1,1,1,x\r\n`, [], "line 3: the lines end in different ways"],
    [`${HEADER}B,1,1,1,x\rB,1,1,1,x\n`, [], "the lines end in different ways"],
    ["", [], "has no lines"],
    // Problems of the options for the file.
    [`${HEADER}B,1,1,1,x\n`, ["--map", "Article=itemID"], '--map: there is no column "Article"'],
    [`${HEADER}B,1,1,1,x\n`, ["--map", "remark=itemID"], 'the columns "itemID" and "remark" are both itemID'],
    [`${HEADER}B,1,1,1,x\n`, ["--key", "refrence"], '--key: there is no column "refrence"'],
    [`${HEADER}B,1,1,1,x\n`, ["--ignore", "color"], '--ignore: there is no column "color".'],
    [`${HEADER}B,1,1,1,x\n`, ["--set", "wid=1"], '--set wid: the column "wid" is wid, too. Add --ignore "wid".'],
    ["itemID,units\nB,5\n", ["--set", "wid"], "must be field=value"],
    ["itemID,units\nB,5\n", ["--set", "reasonCod=1"], 'receive has no field "reasonCod", did you mean "reasonCode"?'],
    ["itemID,units\nB,5\n", ["--format", "xml"], "Allowed choices are csv, ndjson"],
    ["itemID,units\nB,5\n", ["--operation", "destroy"], "Allowed choices are create, update, discontinue"],
    // Problems of a line.
    ["itemID,units\nB,5\n", ["--set", "wid=one", "--set", "reasonCode=1"], "line 2: wid must be a"],
    ['itemID,units\nB,"2,5"\n', THREE, 'line 2: units must be a number, not "2,5": write 2.5, or add --decimal ,\n'],
    ['itemID,units\nB,"1,000"\n', THREE, "write 1000 if the comma separates thousands, 1.000 if it is a decimal one\n"],
    [`itemID,units\nB,${"9".repeat(20)}\n`, THREE, /line 2: units must be a number, not "9{20}": it has more digits/],
    [`itemID,units\nB,0.10\nB,1.${"1".repeat(20)}\n`, THREE, /^line 3: units must be a number, .* more digits/],
    [`${HEADER}BOLT-M8,5\n`, [], "line 2: 2 cells, but the header has 5"],
    [`${HEADER}#NAME?,5,1,1,x\n`, [], 'line 2: column "itemID" contains the error #NAME? of a spreadsheet'],
    [`${HEADER}BOLT-M8,5,1,1,#BEZUG!\n`, [], "the error #BEZUG! of a spreadsheet"],
    [`${HEADER}BOLT-M8,5,1,1,########\n`, [], "the error ######## of a spreadsheet"],
    [Buffer.from(`${HEADER}BOLT-M8,5,1,1,Gr\u00fc\u00dfe\n`, "latin1"), [], "line 2: is not UTF-8"],
    ['itemID,units\n"BOLT-M8 ",5\n', THREE, "must not begin or end with a space"],
    ["itemID,units\nBOLT-M8\u00a0,5\n", THREE, "must not begin or end with a space"],
    ["itemID,units\nBOLT\u200b-M8,5\n", THREE, "invisible or unusual spaces"],
    ['itemID,units\n"BOLT\nM8",5\n', THREE, "line breaks"],
    ['{"itemID":"B","wid":1,"reasonCode":1,"units":9007199254740993}', [], "more digits than a number keeps"],
    ['{"itemID":"B","wid":1,"reasonCode":1,"units":1,"units":20}', [], '"units" occurs twice'],
    // Problems of the keys.
    [
      `id,itemID,units\n${"x".repeat(200)},B,5\n`,
      ["--key", "id", ...THREE],
      "line 2: key: must be at most 200 characters",
    ],
    ["id,itemID,units\n,B,5\n", ["--key", "id", ...THREE], 'line 2: the column "id" has no key'],
    ["id,itemID,units\na,B,5\na,B,6\n", ["--key", "id", ...THREE], 'line 3: the key "id=a" is that of line 2, too'],
    ...["9007199254740993", "9007199254740994", '{"no":1}', '["x","y"]', "true"].map(
      (doc): [string, string[], RegExp] => [
        `{"itemID":"B","units":1,"wid":1,"reasonCode":1,"doc":${doc}}`,
        ["--key", "doc"],
        /more digits|must be a string, or a number/,
      ],
    ),
  ])("is refused with what to do, before the outbox is created: %j %j", async (text, options, message) => {
    const path = file(String(text).startsWith("{") ? "wrong.ndjson" : "wrong.csv", text);
    const { code, err } = await refused([
      "import",
      path,
      "--outbox",
      join(path, "no such folder"),
      "--operation",
      "receive",
      ...options,
    ]);
    expect(err).toMatch(message);
    expect(err.trimEnd().split("\n").length).toBeLessThanOrEqual(3);
    expect(code).toBe(2);
  });

  it.each([
    ["/dev/null", "must be a file"],
    [file(), "must be a file"],
    [file("missing.csv"), "no such file"],
  ])("is a file: %s", async (path, reason) => {
    const { code, err } = await refused(["import", path, "--operation", "receive", "--outbox", file("o.db")]);
    expect(err).toMatch(new RegExp(`^stocklot: ${path}:? .*${reason}.*\\n$`));
    expect(code).toBe(2);
  });
});

describe("an address in the place of a file", () => {
  commandFiles();

  it.each([
    ["plan", "show", "ADDRESS"],
    ["outbox", "list", " ADDRESS"],
    ["outbox", "list", "pg:canary-password@127.0.0.1:1/x"],
    ["export", "items", "--output", "ADDRESS"],
    ["mirror", "--sqlite", "ADDRESS"],
    ["mirror", "--sqlite", "ADDRESS", "--status"],
  ])("does not show its password: %s %s", async (...args) => {
    const { env } = await serve({ items: 1, lots: 0 });
    const given = args.map((text) => text.replace("ADDRESS", "postgres://pg:canary-password@127.0.0.1:1/x"));
    const { code, out, err } = await run(given, env);
    expect(code).not.toBe(0);
    expect(out + err).toContain("127.0.0.1:1");
    expect(out + err).not.toContain("canary");
  });
});
