import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parse } from "csv-parse/sync";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { waitUntil } from "../support/with-server.js";
import { type RunningCommand, run, serve, start } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-export-"));
afterAll(() => rmSync(directory, { recursive: true }));
const fileNamed = (name: string) => join(directory, name);

/** Ends a command as a crash does. */
async function killOnce(condition: () => boolean, { child, ended }: RunningCommand): Promise<void> {
  await waitUntil(condition);
  child.kill("SIGKILL");
  await ended;
}

// Each command is a process of its own, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

describe("stocklot export", () => {
  it("writes every lot as CSV, with a header and CR LF", async () => {
    const { env } = await serve({ items: 20, lots: 600 });
    const file = fileNamed("lots.csv");
    const { code, err, out } = await run(["export", "lots", "--gapless", "-o", file], env);
    expect({ code, out }).toEqual({ code: 0, out: "" });
    expect(err).toContain("600 lots exported");
    const text = readFileSync(file, "utf8");
    expect(text.split("\r\n")[0]).toMatch(/^recNo,partNo,shortID,/);
    const records: Record<string, string>[] = parse(text, { columns: true });
    expect(new Set(records.map(({ recNo }) => recNo)).size).toBe(600);
    expect(existsSync(`${file}.part`) || existsSync(`${file}.resume.json`)).toBe(false);
  });

  it("writes stock levels with the SKU, which the service does not send", async () => {
    const { env } = await serve({
      items: [{ shortID: "A" }, { shortID: "B" }],
      lots: [{ shortID: "B", units: 3, wID: 1 }],
    });
    const { out } = await run(["export", "stock-levels"], env);
    expect(out).toMatch(/^shortID,partNo,available,inStock,/);
    expect(out).toMatch(/^B,\d+,3,3,/m);
    const chosen = await run(["export", "stock-levels", "--format", "ndjson", "--columns", "shortID,inStock"], env);
    expect(chosen.out).toContain('{"shortID":"B","inStock":3}\n');
    const asServed = await run(["export", "stock-levels", "--format", "ndjson"], env);
    expect(asServed.out).not.toContain("shortID");
  });

  it("quotes text, and writes decimals exactly", async () => {
    const remark = 'a "quoted", text\nof two lines';
    const { env } = await serve({ lots: [{ shortID: "A", units: 0.1, remark }] });
    const { out } = await run(["export", "lots", "--columns", "remark,units,serial2"], env);
    expect(out).toBe(`remark,units,serial2\r\n"a ""quoted"", text\nof two lines",0.1,\r\n`);
  });

  it("quotes every kind of line break, so that each record stays one", async () => {
    const remarks = ["two\nlines", "two\rlines", "two\r\nlines", "\n", "one line"];
    const { env } = await serve({ lots: remarks.map((remark) => ({ shortID: "A", units: 1, remark })) });
    const { out } = await run(["export", "lots", "--columns", "remark,units"], env);
    const records: Record<string, string>[] = parse(out, { columns: true, record_delimiter: ["\r\n", "\n", "\r"] });
    expect(records.map(({ remark }) => remark).sort()).toEqual(remarks.sort());
    expect(out).toContain('"two\rlines",1\r\n');
  });

  it.each([
    [
      "ndjson",
      (text: string) =>
        text
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line)),
    ],
    ["json", (text: string) => JSON.parse(text)],
  ])("writes %s to standard output", async (format, read) => {
    const { env } = await serve({ items: 300, lots: [] });
    const { code, out } = await run(["export", "items", "--format", format], env);
    expect(code).toBe(0);
    expect(read(out).length).toBeGreaterThanOrEqual(300);
  });

  it("writes an empty list in every format", async () => {
    const { env } = await serve({ items: [], lots: [] });
    const outputs = await Promise.all(
      ["csv", "ndjson", "json"].map((format) => run(["export", "lots", "--format", format, "--columns", "recNo"], env)),
    );
    expect(outputs.map(({ out }) => out)).toEqual(["recNo\r\n", "", "[]\n"]);
  });

  it("continues after a kill, and contains every record once", async () => {
    const { env } = await serve({ items: 5, lots: 3_000, latencyMs: 30 });
    const file = fileNamed("resumed.ndjson");
    const args = ["export", "lots", "--gapless", "--output", file];
    await killOnce(() => existsSync(`${file}.resume.json`), start(args, env));
    expect(existsSync(file)).toBe(false);
    const partial = statSync(`${file}.part`).size;
    expect(partial).toBeGreaterThan(0);
    const { code, err } = await run([...args, "--resume"], env);
    expect(err).toContain("3000 lots exported");
    expect(code).toBe(0);
    const keys = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).recNo);
    expect(keys).toHaveLength(3_000);
    expect(new Set(keys).size).toBe(3_000);
  });

  it("does not continue an export from another service or client, or one saved by an earlier version", async () => {
    const { env } = await serve({ items: 5, lots: 3_000, latencyMs: 30 });
    const file = fileNamed("other-service.ndjson");
    const args = ["export", "lots", "--gapless", "--output", file];
    const state = `${file}.resume.json`;
    await killOnce(() => existsSync(state), start(args, env));
    const { env: otherService } = await serve({ items: 5, lots: 3_000 });
    const part = readFileSync(`${file}.part`);
    for (const changed of [otherService, { ...env, STOCKLOT_CLIENT_ID: "other" }]) {
      const { code, err } = await run([...args, "--resume"], changed);
      expect({ code, err }).toEqual({
        code: 2,
        err: `stocklot: ${file}.part is an export with other arguments. Remove it, or run without --resume.\n`,
      });
    }
    expect(readFileSync(`${file}.part`)).toEqual(part);
    const { STOCKLOT_BASE_URL = "", STOCKLOT_CLIENT_ID = "", ...secret } = env;
    const flags = ["--base-url", `${STOCKLOT_BASE_URL}/`, "--client-id", STOCKLOT_CLIENT_ID];
    expect(await run([...args, "--resume", ...flags], secret)).toMatchObject({ code: 0 });

    writeFileSync(`${file}.part`, part);
    const description = { name: "lots", params: {}, format: "ndjson", gapless: true };
    const fingerprint = createHash("sha256").update(JSON.stringify(description)).digest("hex");
    writeFileSync(state, JSON.stringify({ fingerprint, checkpoint: {}, records: 1, bytes: 1 }));
    const earlier = await run([...args, "--resume"], env);
    expect(earlier.code).toBe(2);
    expect(earlier.err).toContain(".part is an export with other arguments.");
  });

  it("stops on Ctrl-C with 130, and says how to continue", async () => {
    const { env } = await serve({ items: 5, lots: 5_000, latencyMs: 50 });
    const { child, ended } = start(["export", "lots", "--gapless", "--output", fileNamed("stopped.csv")], env);
    while (!existsSync(`${fileNamed("stopped.csv")}.part`)) await new Promise((resolve) => setTimeout(resolve, 10));
    child.kill("SIGINT");
    const { code, err } = await ended;
    expect(code).toBe(130);
    expect(err).toContain("--resume");
    expect(err).not.toContain("    at ");
  });

  it("ends quietly if the reader of a pipe has seen enough", async () => {
    const { env } = await serve({ items: 5, lots: 5_000 });
    const { child, ended } = start(["export", "lots"], env);
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await ended).toMatchObject({ code: 0, err: "" });
  });

  it.each([
    [["export", "orders"], /items, lots, stock-levels/],
    [["export", "items", "--wid", "3"], /--wid does not apply/],
    [["export", "lots", "--resume"], /--resume needs --output/],
    [["export", "lots", "--resume", "-o", "x.csv"], /--resume needs --gapless/],
    [["export", "lots", "--since", "yesterday"], /ISO 8601/],
    [["export", "lots", "--since", "2025-02-30"], /--since <date>' argument '2025-02-30' .* The date does not exist\./],
    [["export", "lots", "--since", "2025-13-01T10:00:00Z"], /--since .* The date does not exist\./],
    [["export", "lots", "--since", "2025-01-31 10:00"], /--since .* ISO 8601/],
    [["export", "lots", "--since", "2025-01-31T25:00:00Z"], /--since .* ISO 8601/],
    [["export", "lots", "--output", ""], /--output <file>' argument '' .* It must be the name of a file\./],
    [["export", "lots", "--format", "xml"], /csv, ndjson, json/],
    [["export", "lots", "--wid", "x"], /integer/],
    [
      ["export", "lots", "-o", "y.xlsx"],
      /^stocklot: --output: \.xlsx is not .* must end with \.csv, \.ndjson, \.json; .* set --format\.\n$/,
    ],
    [["export", "lots", "-o", "lots.csv.gz"], /\.gz is not the extension of a format/],
    [["export", "lots", "--resume", "--gapless", "-o", "-"], /--resume needs --output/],
  ])("refuses %j", async (args, message) => {
    const { code, err } = await run(args, {});
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });

  it("refuses a column that no record has", async () => {
    const { env } = await serve({ items: 2, lots: 3 });
    const { code, err } = await run(["export", "lots", "--columns", "recNo,colour"], env);
    expect(code).toBe(2);
    expect(err).toMatch(/records have no colour\. They have recNo, /);
  });

  it("warns if the service ignores --since", async () => {
    const { sandbox, env } = await serve({ items: 20, lots: 60, modifiedSinceOn: ["items"] });
    const since = ["--since", new Date(Date.now() + 3_600_000).toISOString(), "--columns", "shortID"];
    const items = await run(["export", "items", ...since], env);
    expect(items).toMatchObject({ code: 0, out: "shortID\r\n", err: "0 items exported.\n" });
    const lots = await run(["export", "lots", ...since, "--wid", "1"], env);
    expect(lots).toMatchObject({
      code: 0,
      err: expect.stringMatching(
        /^warning: the service ignores --since for lots; every record is exported\.\n\d+ lots/,
      ),
    });
    const paths = sandbox.requests.filter(({ method }) => method === "GET").map(({ path }) => path);
    expect(new Set(paths)).toEqual(new Set(["/Item/All", "/Inventory/1"]));
  });

  it("writes to standard output for -o -, and any name with --format", async () => {
    const { env } = await serve({ lots: [{ shortID: "A", units: 1 }] });
    const lots = ["export", "lots", "--columns", "shortID,units"];
    const out = "shortID,units\r\nA,1\r\n";
    expect(await run([...lots, "-o", "-"], env, directory)).toEqual({ code: 0, out, err: "1 lots exported.\n" });
    expect(existsSync(fileNamed("-"))).toBe(false);
    for (const [name, format] of [
      ["lots.txt", "csv"],
      ["lots", undefined],
    ] as const) {
      const args = [...lots, "-o", name, ...(format ? ["--format", format] : [])];
      expect(await run(args, env, directory)).toMatchObject({ code: 0, out: "" });
      expect(readFileSync(fileNamed(name), "utf8")).toBe(out);
    }
  });

  it("trims the names of columns, and refuses an empty one", async () => {
    const { env } = await serve({ lots: [{ shortID: "A", units: 1 }] });
    expect(await run(["export", "lots", "--columns", "shortID, units"], env)).toMatchObject({
      code: 0,
      out: "shortID,units\r\nA,1\r\n",
    });
    expect(await run(["export", "lots", "--columns", "shortID,"], env)).toMatchObject({ code: 2, out: "" });
  });

  it("replaces a file, also behind a symbolic link, but no folder or device", async () => {
    const { env } = await serve({ lots: [{ shortID: "A" }] });
    const [file, link] = [fileNamed("replaced.csv"), fileNamed("link.csv")];
    writeFileSync(file, "old");
    symlinkSync(file, link);
    const args = ["export", "lots", "--columns", "shortID", "--output"];
    expect((await run([...args, link], env)).code).toBe(0);
    expect(readFileSync(file, "utf8")).toBe("shortID\r\nA\r\n");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    const refused = await Promise.all([run([...args, directory], env), run([...args, "/dev/null"], env)]);
    expect(refused.map(({ code, err }) => `${code} ${err}`)).toEqual([
      expect.stringMatching(/^2 stocklot: --output: .* is not a regular file\. Add the name of a file\.\n$/),
      expect.stringMatching(/^2 stocklot: --output: \/dev\/null is not a regular file\. .* > \/dev\/null\.\n$/),
    ]);
    expect(lstatSync("/dev/null").isFile()).toBe(false);
  });

  it("keeps the permissions of the file that it replaces, also in its parts", async () => {
    const { env } = await serve({ items: 5, lots: 3_000, latencyMs: 30 });
    const file = fileNamed("private.ndjson");
    const permissions = (path: string) => (statSync(path).mode & 0o777).toString(8);
    const args = ["export", "lots", "--gapless", "--output", file];
    for (const [mode, ofParts] of [
      ["600", "600"],
      ["440", "640"],
    ] as const) {
      writeFileSync(file, "old");
      chmodSync(file, mode);
      await killOnce(() => existsSync(`${file}.resume.json`), start(args, env));
      expect([`${file}.part`, `${file}.resume.json`].map(permissions)).toEqual([ofParts, ofParts]);
      expect((await run([...args, "--resume"], env)).code).toBe(0);
      expect([permissions(file), readFileSync(file, "utf8").split("\n").length]).toEqual([mode, 3_001]);
    }
  });

  it.each([
    [[]],
    [["--gapless"]],
  ])("refuses a second export to a file at once while the first runs, with %j", async (flags) => {
    const { sandbox, env } = await serve({ items: 5, lots: 3_000, latencyMs: 30 });
    const file = fileNamed(`twice${flags.length}.ndjson`);
    const args = ["export", "lots", ...flags, "--output", file];
    const first = start(args, env);
    await waitUntil(() => existsSync(`${file}.part`));
    // Until the others have tried.
    first.child.kill("SIGSTOP");
    const tokens = () => sandbox.requests.filter(({ path }) => path === "/Token").length;
    const before = tokens();
    for (const second of [args, [...args, "--gapless", "--resume"]]) {
      expect(await run(second, env)).toEqual({
        code: 1,
        out: "",
        err: `stocklot: ${file} is being written by another export (process ${first.child.pid} on ${hostname()}). Wait until it ends. If it is not running, remove ${file}.part.lock.\n`,
      });
    }
    expect(tokens() - before).toBeLessThanOrEqual(1);
    first.child.kill("SIGCONT");
    expect(await first.ended).toMatchObject({ code: 0 });
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(3_000);
    expect(readdirSync(directory).filter((name) => name.startsWith(`twice${flags.length}`))).toEqual([basename(file)]);
  });

  it("starts anew after a killed export, of several that start at once only one", async () => {
    const { env } = await serve({ items: 5, lots: 3_000, latencyMs: 200 });
    const file = fileNamed("after-kill.ndjson");
    const args = ["export", "lots", "--gapless", "--output", file];
    await killOnce(() => existsSync(`${file}.resume.json`), start(args, env));
    expect(existsSync(`${file}.part.lock`)).toBe(true);
    const ended = await Promise.all([1, 2, 3, 4].map(() => run([...args, "--resume"], env)));
    expect(ended.map(({ code }) => code).sort()).toEqual([0, 1, 1, 1]);
    const keys = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).recNo);
    expect([keys.length, new Set(keys).size]).toEqual([3_000, 3_000]);
    expect(readdirSync(directory).filter((name) => name.startsWith("after-kill"))).toEqual([basename(file)]);
  });

  it("forgets how far an earlier export got when it starts anew", async () => {
    const { env } = await serve({ items: 5, lots: 3_000, latencyMs: 100 });
    const file = fileNamed("anew.ndjson");
    const args = ["export", "lots", "--output", file];
    const state = `${file}.resume.json`;
    await killOnce(() => existsSync(state), start([...args, "--gapless"], env));
    // Otherwise --resume would continue the first export with the part of the second one.
    await killOnce(() => !existsSync(state), start(args, env));
    expect(existsSync(file)).toBe(false);
  });

  it("neither writes nor removes a file of the user that has the name of the lock", async () => {
    const { env } = await serve({ lots: [{ shortID: "A" }] });
    const file = fileNamed("foreign.csv");
    writeFileSync(`${file}.part.lock`, "of the user");
    const { code, err } = await run(["export", "lots", "--output", file], env);
    expect(code).toBe(1);
    expect(err).toMatch(/ is being written by another export\. Wait .* remove .*foreign\.csv\.part\.lock\.\n$/);
    expect(readFileSync(`${file}.part.lock`, "utf8")).toBe("of the user");
  });

  // A limit for the size of a file fails in the middle of a write, as a full disk does.
  it.each(["csv", "ndjson"])("says that a file cannot grow, and continues a %s file later", async (format) => {
    const { env } = await serve({ items: 5, lots: 2_000 });
    const file = fileNamed(`full.${format}`);
    const args = ["export", "lots", "--gapless", "-o", file];
    const full = await run(args, env, undefined, ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh"]);
    expect(full).toMatchObject({ code: 1, out: "" });
    expect(full.err).toMatch(
      /^stocklot: .*full\.\w+\.part: EFBIG: file too large, write\. Continue with --resume\.\n$/,
    );
    expect(await run([...args, "--resume"], env)).toMatchObject({ code: 0, out: "" });
    const whole = fileNamed(`whole.${format}`);
    await run(["export", "lots", "--gapless", "-o", whole], env);
    expect(readFileSync(file, "utf8").split("\n").sort()).toEqual(readFileSync(whole, "utf8").split("\n").sort());
  });

  it("says that standard output cannot be written, without a stack trace", async () => {
    const { env } = await serve({ items: 5, lots: 2_000 });
    const ended = await run(["export", "lots"], env, undefined, ["sh", "-c", 'exec "$@" > /dev/full', "sh"]);
    expect(ended).toMatchObject({
      code: 1,
      err: "stocklot: standard output: ENOSPC: no space left on device, write\n",
    });
  });

  it("ignores that messages cannot be written", async () => {
    const { env } = await serve({ lots: [{ shortID: "A" }] });
    const ended = await run(["export", "lots", "--columns", "shortID"], env, undefined, [
      "sh",
      "-c",
      'exec "$@" 2> /dev/full',
      "sh",
    ]);
    expect(ended).toEqual({ code: 0, out: "shortID\r\nA\r\n", err: "" });
  });

  it("says that the state of an interrupted export is damaged", async () => {
    const { env } = await serve();
    const file = fileNamed("damaged.csv");
    writeFileSync(`${file}.part`, "x");
    writeFileSync(`${file}.resume.json`, "{");
    const { code, err } = await run(["export", "lots", "--gapless", "--resume", "-o", file], env);
    expect(code).toBe(1);
    expect(err).toMatch(/^stocklot: .*damaged\.csv\.resume\.json is damaged\. .*without --resume\.\n$/);
  });

  it("says why a file cannot be written", async () => {
    const { env } = await serve();
    const { code, err } = await run(["export", "lots", "-o", join(directory, "missing", "lots.csv")], env);
    expect(code).toBe(2);
    expect(err).toBe(
      `stocklot: --output: the folder ${join(directory, "missing")} does not exist. Create it, or choose another one.\n`,
    );
  });
});
