import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { harmlessText, keptText, textOfCell } from "../../src/command/read-rows/spreadsheet-text.js";
import { seededRandom } from "../support/random.js";
import { commandFiles, receiptsIn, run, serve } from "./support/run-command.js";

const file = commandFiles();

it("texts for a spreadsheet are read back as they were, and begin no formula", () => {
  const random = seededRandom(7);
  const characters = [..."=+-@'\"\t\r\n0a ,;"];
  for (let times = 0; times < 5_000; times += 1) {
    const text = Array.from({ length: random(8) }, () => characters[random(characters.length)]).join("");
    const [harmless, kept] = [harmlessText(text), keptText(text)];
    expect([text, textOfCell(harmless), textOfCell(kept)]).toEqual([text, text, text]);
    expect(harmless).not.toMatch(/^[=+\-@\t\r]/);
    expect(kept).toMatch(/^$|^="([^"]|"")*"$/s);
  }
});

describe("an export for a spreadsheet", () => {
  it("is read back by imports, counts and plans", async () => {
    const skus = ["0017", "=1+1", "1E5", "-5", "@x", "A"];
    const items = skus.map((shortID) => ({ shortID, description: `=HYPERLINK("${shortID}")`, uOM: "EA" }));
    const lots = skus.map((shortID, index) => ({ shortID, wID: 1, spot: "01-2", serial: "007", units: index + 1.5 }));
    for (const [delimiter, decimal] of [
      [",", "."],
      [";", ","],
      ["tab", ","],
    ] as const) {
      const { env, sandbox } = await serve({ items, lots });
      const csv = ["--delimiter", delimiter, "--decimal", decimal];
      const output = file("items.csv");
      expect(await run(["export", "items", "--excel", ...csv, "--output", output], env)).toMatchObject({ code: 0 });
      const text = readFileSync(output, "utf8");
      expect(text).toMatch(/^\uFEFFpartNo/);
      expect(text).toContain(`"=""0017"""`);
      expect(text).not.toMatch(/(^|[,;\t])"?[=+@](?!"")/m);
      const planned = await run(["plan", "items", output, ...csv], env);
      expect(planned).toMatchObject({ code: 0, out: expect.stringContaining("+ 0 create  ~ 0 update") });

      const sheet = file("lots.csv");
      const columns = ["--columns", "shortID,spot,serial,units", ...csv];
      expect(await run(["export", "lots", "--wid", "1", "--excel", ...columns, "--output", sheet], env)).toMatchObject({
        code: 0,
      });
      const before = file("before.json");
      expect(await run(["count", "snapshot", "--wid", "1", "--out", before, "--force"], env)).toMatchObject({
        code: 0,
      });
      const names = ["--map", "shortID=itemID", "--map", "units=counted", "--surplus", "1", "--shortage", "2"];
      const counted = await run(["count", "plan", before, sheet, ...names, ...csv], env);
      expect(counted.out).toMatch(/^\+ 0 receive {2}- 0 issue/);
      const set = ["--set", "wid=1", "--set", "reasonCode=1", "--map", "shortID=itemID"];
      const imported = ["import", sheet, "--operation", "receive", "--outbox", file(`${delimiter}.db`), ...set, ...csv];
      const booked = await run([...imported, "--delivery", delimiter], env);
      expect(booked).toMatchObject({ code: 0 });
      expect(receiptsIn(sandbox).slice(-6)).toEqual(
        expect.arrayContaining(
          lots
            .slice(0, 1)
            .map(() => expect.objectContaining({ itemID: "0017", spot: "01-2", serial: "007", units: 1.5 })),
        ),
      );
    }
  });

  it("is a CSV file", async () => {
    const { env } = await serve();
    for (const option of [["--excel"], ["--delimiter", ";"], ["--decimal", ","]])
      expect(await run(["export", "items", "--format", "ndjson", ...option], env)).toMatchObject({
        code: 2,
        err: expect.stringContaining(`${option[0]} needs --format csv`),
      });
  });
});

describe("a file that a spreadsheet has saved", () => {
  const LINE = "itemID;units;wid;reasonCode;remark\r\nBOLT-M8;2,5;1;1;Grüße\r\n";
  const options = ["--operation", "receive", "--delimiter", ";", "--decimal", ","];

  it("has decimal commas and the encoding of Windows", async () => {
    const { env, sandbox } = await serve();
    const saved = file("w.csv", Buffer.from(LINE, "latin1"));
    const send = (path: string, ...more: string[]) =>
      run(["import", path, "--outbox", file("w.db"), ...options, ...more], env);
    expect(await send(saved)).toMatchObject({ code: 2, err: expect.stringContaining("--encoding windows-1252") });
    expect(await send(saved, "--encoding", "windows-1252")).toMatchObject({ code: 0 });
    expect(receiptsIn(sandbox)).toMatchObject([{ units: 2.5, remark: expect.stringMatching(/Grüße$/) }]);
    for (const encoded of [Buffer.from(LINE), Buffer.from(`\uFEFF${LINE}`, "utf16le")])
      expect(await send(file("u.csv", encoded), "--encoding", "windows-1252")).toMatchObject({
        code: 2,
        err: expect.stringContaining("Leave out --encoding"),
      });
    const points = file("p.csv", LINE.replace("2,5", "1.234").replace("ü", "u").replace("ß", "ss"));
    expect(await send(points)).toMatchObject({ code: 2, err: expect.stringContaining("must have no point") });
    expect(receiptsIn(sandbox)).toHaveLength(1);
  });

  it("--dry-run shows the first lines, the sums and the SKUs that do not exist, and books nothing", async () => {
    const { env, sandbox } = await serve({
      items: [
        { shortID: "A", uOM: "EA" },
        { shortID: "B", uOM: "KG" },
        { shortID: "OLD", discontinued: true },
      ],
    });
    const header = "id,itemID,units,wid,reasonCode\n";
    const lines = Array.from({ length: 30 }, (_, index) => `${index},${index % 2 ? "a" : "B"},0.1,1,1\n`).join("");
    const dry = (text: string, ...more: string[]) =>
      run(
        [
          "import",
          file("d.csv", header + text),
          "--operation",
          "receive",
          "--outbox",
          file("dry.db"),
          "--key",
          "id",
          "--dry-run",
          ...more,
        ],
        env,
      );
    const good = await dry(lines);
    expect(good).toMatchObject({ code: 0, err: "" });
    expect(good.out).toMatch(
      /^The first 10 lines, as receive:\nline +key +itemID +units +wid +reasonCode\n *2 +id=0 +B +0\.1 /,
    );
    expect(good.out).toContain(
      "\n30 lines, 2 SKUs, units: 1.5 KG, 1.5 EA. Nothing was stored or sent.\nAll SKUs exist.\n",
    );
    const bad = await dry(`${lines}x,NO-1,1,1,1\ny,OLD,1,1,1\n`);
    expect(bad.code).toBe(1);
    expect(bad.out).toContain('line 32: the item "NO-1" does not exist\nline 33: the item "OLD" is discontinued\n');
    const json = JSON.parse((await dry(lines, "--json")).out);
    expect(json).toMatchObject({
      lines: 30,
      problems: [],
      units: { EA: 1.5, KG: 1.5 },
      first: [{ line: 2, key: "id=0" }, ...Array(9).fill({})],
    });
    expect(sandbox.requests.filter(({ method, path }) => method !== "GET" && path !== "/Token")).toEqual([]);
    const offline = await run([
      "import",
      file("d.csv"),
      "--operation",
      "receive",
      "--outbox",
      "x.db",
      "--key",
      "id",
      "--dry-run",
    ]);
    expect(offline).toMatchObject({ code: 0, out: expect.stringContaining("The SKUs were not looked up") });
  });
});
