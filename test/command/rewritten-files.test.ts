import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../support/random.js";
import { runs } from "../support/runs.js";
import { asCsv, REWRITABLE, throughSpreadsheet } from "../support/spreadsheet.js";
import { commandFiles, receiptsIn, run, serve } from "./support/run-command.js";

/*
 * People edit a file that was imported, save it in another form, and import it again. No booked line may be booked again.
 */

const file = commandFiles();
let worlds = 0;

async function importing() {
  const { sandbox, env } = await serve();
  worlds += 1;
  const folder = `world-${worlds}`;
  const outbox = file(`${folder}/o.db`);
  const send = (name: string, text: string, ...more: string[]) =>
    run(["import", file(`${folder}/${name}`, text), "--operation", "receive", "--outbox", outbox, ...more], env);
  return { send, outbox, env, receipts: () => receiptsIn(sandbox) };
}

const HEADER = "itemID,units,wid,reasonCode,remark\n";
const LINE = "BOLT-M8,5,1,1,x\n";

describe("a known delivery", () => {
  it.each([
    ["with an empty line in front", HEADER + LINE, "day.csv", `${HEADER}\n${LINE}`, []],
    [
      "with five lines more in front than it had",
      HEADER + LINE.repeat(5),
      "day.csv",
      `${HEADER}\n\n\n\n\n${LINE.repeat(5)}`,
      [],
    ],
    [
      "with a line break in its header",
      HEADER + LINE,
      "day.csv",
      `${HEADER.replace("remark", '"rem\nark"')}${LINE}`,
      ["--map", "rem\nark=remark"],
    ],
    [
      "as NDJSON",
      HEADER + LINE,
      "day.ndjson",
      '{"itemID":"BOLT-M8","units":5,"wid":1,"reasonCode":1,"remark":"x"}\n',
      [],
    ],
    ["with one line less", HEADER + LINE.repeat(3), "day.csv", HEADER + LINE.repeat(2), []],
    ["with keys of its own", `id,${HEADER}1,${LINE}`, "day.csv", `id,${HEADER}1,${LINE}`, ["--key", "id"]],
  ])("is refused %s, with the two choices", async (_, first, name, second, more) => {
    const { send, receipts } = await importing();
    const ignored = first.startsWith("id,") ? ["--ignore", "id"] : [];
    expect(await send("day.csv", first, "--delivery", "day", ...ignored)).toMatchObject({ code: 0 });
    const booked = receipts().length;
    const again = await send(name, second, "--delivery", "day", ...more);
    expect(again).toMatchObject({ code: 2, err: expect.stringMatching(/name it with --delivery.*add --corrects/s) });
    expect(receipts()).toHaveLength(booked);
    expect(await send("day.csv", first, "--delivery", "day", ...ignored)).toMatchObject({ code: 3 });
  });

  it("has one name in all forms of Unicode", async () => {
    const { send, receipts } = await importing();
    expect(await send("a.csv", HEADER + LINE, "--delivery", "M\u00e4rz")).toMatchObject({ code: 0 });
    expect(await send("a.csv", HEADER + LINE, "--delivery", "Ma\u0308rz")).toMatchObject({ code: 3 });
    expect(receipts()).toHaveLength(1);
  });
});

describe("keys that a spreadsheet has rewritten", () => {
  const KEYED = `id,${HEADER}`;
  const lines = (ids: string[], units = 10) => KEYED + ids.map((id) => `${id},BOLT-M8,${units},1,1,x\n`).join("");

  it("are refused in a correction, whatever they have become", async () => {
    const { send, receipts } = await importing();
    const ids = ["DN-1", "0017", "12E3", "3-4", "DN-9"];
    const first = lines(ids).replace("DN-9,BOLT-M8", "DN-9,BOLT-M88");
    expect(await send("keys.csv", first, "--key", "id")).toMatchObject({ code: 1 });
    const saved = await send(
      "keys.csv",
      lines(["DN-1", "17", "12000", "03. Apr", "DN-9"]),
      "--key",
      "id",
      "--corrects",
    );
    expect(saved.code).toBe(2);
    for (const problem of [
      'line 3: the key "17" is "0017"',
      'line 4: the key "12000" is "12E3"',
      'line 5: the key "03. Apr" is "3-4"',
    ])
      expect(saved.err).toContain(problem);
    const unlike = await send("keys.csv", lines([...ids, "DN-10"]), "--key", "id", "--corrects");
    expect(unlike).toMatchObject({
      code: 2,
      err: expect.stringContaining('line 7: the key "DN-10" in the column "id" was never imported'),
    });
    expect(receipts()).toHaveLength(4);
    expect(await send("keys.csv", lines(ids), "--key", "id", "--corrects")).toMatchObject({ code: 0 });
    expect(receipts()).toHaveLength(5);
  });

  it("are refused in another file, and beside another line of the same one", async () => {
    const { send, receipts } = await importing();
    expect(await send("a.csv", lines(["0017"]), "--key", "id")).toMatchObject({ code: 0 });
    expect(await send("b.csv", lines(["17", "18"]), "--key", "id")).toMatchObject({ code: 2 });
    const twice = await send("c.csv", lines(["1E5", "100000"]), "--key", "id");
    expect(twice).toMatchObject({
      code: 2,
      err: expect.stringContaining('line 3: the key "100000" is "1E5" in another notation, the key of line 2'),
    });
    expect(receipts()).toHaveLength(1);
    expect(await send("d.csv", lines(["0017", "18"]), "--key", "id")).toMatchObject({ code: 0 });
  });

  it("are refused whatever they were, with what to do if both are meant", async () => {
    const { send, receipts } = await importing();
    const [stored, saved] = [
      ["5%", "TRUE", "+49-170", "DN\u20101", "5\u2032", "1.1"],
      ["0.05", "true", "-121", "DN-1", "5'", "1.10"],
    ];
    expect(await send("a.csv", lines(stored), "--key", "id")).toMatchObject({ code: 0 });
    const refused = await send("b.csv", lines(saved), "--key", "id");
    expect(refused.code).toBe(2);
    for (const [index, key] of saved.entries())
      expect(refused.err).toContain(`line ${index + 2}: the key "${key}" is "${stored[index]}" in another notation`);
    expect(refused.err).toContain('If they are different keys, put letters before the new key, such as "key 17".');
    expect(receipts()).toHaveLength(6);
    expect(await send("c.csv", lines(saved.map((key) => `key ${key}`)), "--key", "id")).toMatchObject({ code: 0 });
    expect(receipts()).toHaveLength(12);
  });

  it("with --delivery follow the rules of lines: none new, none missing", async () => {
    const { send, receipts } = await importing();
    const day = (ids: string[], ...more: string[]) =>
      send("d.csv", lines(ids), "--key", "id", "--delivery", "d", ...more);
    expect(await day(["a", "b"])).toMatchObject({ code: 0 });
    for (const ids of [["a"], ["a", "b", "c"], ["a", "c"], ["c"]]) expect(await day(ids)).toMatchObject({ code: 2 });
    expect(await day(["b"], "--corrects")).toMatchObject({ code: 2 });
    expect(await day(["b", "a"])).toMatchObject({ code: 3 });
    expect(receipts()).toHaveLength(2);
  });
});

it("columns without a name and without contents are none", async () => {
  const { send, receipts } = await importing();
  const empty = await send("a.csv", "itemID,units,,wid,reasonCode,,\nBOLT-M8,5,,1,1,,\n");
  expect(empty).toMatchObject({ code: 0 });
  const noted = await send("b.csv", "itemID,units,wid,reasonCode,,\nBOLT-M8,5,1,1,,see below\n");
  expect(noted).toMatchObject({
    code: 2,
    err: expect.stringContaining('line 2: column 6 has no name, but contains "see below"'),
  });
  expect(receipts()).toHaveLength(1);
});

it("a key may be typed as it is in commands about the outbox", async () => {
  const { send, outbox } = await importing();
  await send("f.csv", `Beleg Nr,${HEADER}27/1,NO-SUCH,5,1,1,x\n`, "--key", "Beleg Nr", "--delivery", "März 27");
  const typed = "März 27/Beleg Nr=27/1";
  expect(await run(["outbox", "show", outbox, typed])).toMatchObject({
    code: 0,
    out: expect.stringContaining("M%C3%A4rz%2027/Beleg%20Nr=27%2F1"),
  });
  expect(await run(["outbox", "cancel", outbox, typed])).toMatchObject({ code: 0 });
});

it.each(
  Array.from({ length: runs(30) }, (_, seed) => [seed]),
)("a count sheet that a spreadsheet has saved books nothing that was not counted: %i", async (seed) => {
  const random = seededRandom(seed + 6_900);
  const pick = () => REWRITABLE[random(REWRITABLE.length)] ?? "";
  const few = Array.from({ length: 3 }, pick);
  const books = new Map<string, number>();
  const lots = Array.from({ length: 10 }, (_, index) => {
    const [shortID = "", spot = "", serial = ""] = few.map((text) => (random(2) === 0 ? text : pick()));
    const lot = {
      shortID,
      spot,
      serial: random(2) === 0 ? serial : "",
      units: index + 1,
      wID: 1,
      received: "2026-01-01",
    };
    const key = JSON.stringify([shortID, lot.spot, lot.serial]);
    books.set(key, (books.get(key) ?? 0) + lot.units);
    return lot;
  });
  const { client, env } = await serve({ items: REWRITABLE.map((shortID) => ({ shortID })), lots });
  const [before, sheet, plan] = ["before.json", "sheet.csv", "plan.json"].map((name) => file(`sheet-${seed}/${name}`));
  await run(["count", "snapshot", "--wid", "1", "--out", before ?? "", "--sheet", sheet ?? ""], env);
  const table: string[][] = parse(readFileSync(sheet ?? ""));
  const [header = [], ...rows] = table;
  const counted = new Map<string, number>();
  const filled = rows.map((cells) => {
    const [spot = "", itemID = "", , serial = "", , book = "", , check = ""] = cells;
    if (random(3) === 0) return cells;
    const quantity = Math.max(0, Number(book) - 2 + random(5));
    counted.set(JSON.stringify([itemID, spot, serial]), quantity);
    return [...cells.slice(0, 6), String(quantity), check];
  });
  const withoutCheck = [
    (row: string[]) => row,
    (row: string[]) => [...row.slice(0, 7), ""],
    (row: string[]) => row.slice(0, 7),
  ];
  const kept = withoutCheck[random(3)] ?? ((row: string[]) => row);
  const columns = [0, 1, 3].filter(() => random(2) === 0);
  const edits = { columns, rewrites: true, moves: random(2) === 0 };
  const [, ...lines] = throughSpreadsheet([header, ...filled], edits, random).map((row) => kept(row));
  const delimiter = [",", ";", "\t"][random(3)] ?? ",";
  const names = header.slice(0, lines[0]?.length ?? header.length);
  const padded = [...names, ...Array.from({ length: (lines[0]?.length ?? 0) - names.length }, () => "")];
  const text = asCsv([padded, ...lines], delimiter);
  const bytes = random(2) === 0 ? Buffer.from(`\uFEFF${text}`, random(2) === 0 ? "utf16le" : "utf8") : text;
  const saved = file(`sheet-${seed}/saved.csv`, bytes);
  const codes = ["--surplus", "1", "--shortage", "2", "--delimiter", delimiter === "\t" ? "tab" : delimiter];
  const planned = await run(["count", "plan", before ?? "", saved, ...codes, "--out", plan ?? ""], env);
  if (planned.code === 0) await run(["apply", plan ?? "", "--outbox", file(`sheet-${seed}/o.db`)], env);
  else expect(planned.err).toMatch(/line \d+|must contain a row/);
  const stock = new Map<string, number>();
  for (const { shortID, spot, serial, units } of await client.inventory.listLots({ wid: 1 }).toArray()) {
    const key = JSON.stringify([shortID, spot, serial]);
    stock.set(key, (stock.get(key) ?? 0) + units);
  }
  for (const [key, units] of stock) expect([books.get(key) ?? 0, counted.get(key)]).toContain(units);
});

it.each(
  Array.from({ length: runs(40) }, (_, seed) => [seed]),
)("a file that a spreadsheet has saved is not booked twice: %i", async (seed) => {
  const random = seededRandom(seed + 6_100);
  const { send, receipts } = await importing();
  const delivery = random(2) === 0 ? ["--delivery", "day"] : [];
  const key = delivery.length === 0 || random(2) === 0 ? ["--key", "id"] : ["--ignore", "id"];
  const keys = REWRITABLE.filter((text) => text !== "TRUE" && random(3) === 0);
  // Each line has its own number of units, which identifies its receipt.
  const lines = keys.map((id, index) => [id, random(5) === 0 ? "NO-SUCH" : "BOLT-M8", String(index + 1), "1", "1", ""]);
  const table = [["id", "itemID", "units", "wid", "reasonCode", "remark"], ...lines];
  await send("day.csv", asCsv(table), ...delivery, ...key);
  for (let times = 0; times < 4; times += 1) {
    const edits = { columns: [0, 2], rewrites: random(2) === 0, moves: random(2) === 0 };
    const delimiter = random(2) === 0 ? "," : ";";
    const saved = throughSpreadsheet(table, edits, random).map((row) =>
      row.map((cell) => cell.replace("NO-SUCH", "BOLT-M8")),
    );
    const corrects = random(2) === 0 ? ["--corrects"] : [];
    await send("day.csv", asCsv(saved, delimiter), ...delivery, ...key, "--delimiter", delimiter, ...corrects);
  }
  const units = receipts().map((receipt) => receipt.units);
  expect(new Set(units).size).toBe(units.length);
});
