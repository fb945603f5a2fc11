import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../support/with-server.js";
import { commandFiles, run, serve, start } from "./support/run-command.js";

const fileNamed = commandFiles();
const filesLike = (name: string) => readdirSync(fileNamed()).filter((file) => file.startsWith(name));

describe("stocklot export", () => {
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

  it("quotes every kind of line break, so that each record stays one", async () => {
    const remarks = ["two\nlines", "two\rlines", "two\r\nlines", "\n", "one line"];
    const { env } = await serve({ lots: remarks.map((remark) => ({ shortID: "A", units: 1, remark })) });
    const { out } = await run(["export", "lots", "--columns", "remark,units"], env);
    const records: Record<string, string>[] = parse(out, { columns: true, record_delimiter: ["\r\n", "\n", "\r"] });
    expect(records.map(({ remark }) => remark).sort()).toEqual(remarks.sort());
    expect(out).toContain('"two\rlines",1\r\n');
  });

  it("writes an empty list in every format", async () => {
    const { env } = await serve({ items: [], lots: [] });
    const outputs = await Promise.all(
      ["csv", "ndjson"].map((format) => run(["export", "lots", "--format", format, "--columns", "recNo"], env)),
    );
    expect(outputs.map(({ out }) => out)).toEqual(["recNo\r\n", ""]);
  });

  it("does not exist after a kill, and can be written again", async () => {
    const { env } = await serve({ items: 5, lots: 3_000, latencyMs: 30 });
    const args = ["export", "lots", "--output", fileNamed("again.ndjson")];
    const { child, ended } = start(args, env);
    await waitUntil(() => filesLike("again.ndjson").some((file) => file.endsWith(".part")));
    child.kill("SIGKILL");
    await ended;
    expect(existsSync(fileNamed("again.ndjson"))).toBe(false);
    expect(await run(args, env)).toMatchObject({ code: 0, err: expect.stringContaining("3000 lots exported") });
    expect(readFileSync(fileNamed("again.ndjson"), "utf8").trimEnd().split("\n")).toHaveLength(3_000);
  });

  it("ends quietly if the reader of a pipe has seen enough", async () => {
    const { env } = await serve({ items: 5, lots: 5_000 });
    const { child, ended } = start(["export", "lots"], env);
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await ended).toMatchObject({ code: 0, err: "" });
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
    expect(await run([...lots, "-o", "-"], env, fileNamed())).toEqual({ code: 0, out, err: "1 lots exported.\n" });
    expect(existsSync(fileNamed("-"))).toBe(false);
    for (const name of ["lots.txt", "lots"]) {
      const format = name === "lots" ? [] : ["--format", "csv"];
      expect(await run([...lots, "-o", name, ...format], env, fileNamed())).toMatchObject({ code: 0, out: "" });
      expect(readFileSync(fileNamed(name), "utf8")).toBe(out);
    }
  });

  it("replaces a file, also behind a symbolic link, but no folder or device", async () => {
    const { env } = await serve({ lots: [{ shortID: "A" }] });
    const [file, link] = [fileNamed("replaced.csv", "old"), fileNamed("link.csv")];
    symlinkSync(file, link);
    const args = ["export", "lots", "--columns", "shortID", "--output"];
    expect((await run([...args, link], env)).code).toBe(0);
    expect(readFileSync(file, "utf8")).toBe("shortID\r\nA\r\n");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    const refused = await Promise.all([run([...args, fileNamed()], env), run([...args, "/dev/null"], env)]);
    expect(refused.map(({ code, err }) => `${code} ${err}`)).toEqual([
      expect.stringMatching(/^2 stocklot: --output: .* is not a regular file\. Add the name of a file\.\n$/),
      expect.stringMatching(/^2 stocklot: --output: \/dev\/null is not a regular file\. .* > \/dev\/null\.\n$/),
    ]);
    expect(lstatSync("/dev/null").isFile()).toBe(false);
  });

  // A limit for the size of a file fails in the middle of a write, as a full disk does.
  it("says that a file cannot grow, and leaves none", async () => {
    const { env } = await serve({ items: 5, lots: 2_000 });
    const args = ["export", "lots", "-o", fileNamed("full.csv")];
    const full = await run(args, env, undefined, ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh"]);
    expect(full).toMatchObject({ code: 1, out: "" });
    expect(full.err).toMatch(/^stocklot: .*full\.csv\.\d+\.part: EFBIG: file too large, write\n$/);
    expect(filesLike("full.csv")).toEqual([]);
  });

  it("says that standard output cannot be written, without a stack trace", async () => {
    const { env } = await serve({ items: 5, lots: 2_000 });
    const ended = await run(["export", "lots"], env, undefined, ["sh", "-c", 'exec "$@" > /dev/full', "sh"]);
    expect(ended).toMatchObject({
      code: 1,
      err: "stocklot: standard output: ENOSPC: no space left on device, write\n",
    });
  });
});
