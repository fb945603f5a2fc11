import { lstatSync, readFileSync, symlinkSync } from "node:fs";
import { parse } from "csv-parse/sync";
import type { SandboxOptions } from "stocklot/sandbox";
import { describe, expect, it } from "vitest";
import { commandFiles, run, serve } from "./support/run-command.js";

const fileNamed = commandFiles();

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
    for (const [format, out] of [
      ["csv", "recNo\r\n"],
      ["ndjson", ""],
    ] as const)
      expect(await run(["export", "lots", "--format", format, "--columns", "recNo"], env)).toMatchObject({ out });
  });

  it("refuses a column that no record has", async () => {
    const { env } = await serve({ items: 2, lots: 3 });
    const { code, err } = await run(["export", "lots", "--columns", "recNo,colour"], env);
    expect(code).toBe(2);
    expect(err).toMatch(/records have no colour\. They have recNo, /);
  });

  it("prints JSON with --json: the records, or what was written", async () => {
    const { env } = await serve({ items: 3, lots: 0 });
    const records = await run(["export", "items", "--json"], env);
    expect(
      records.out
        .trimEnd()
        .split("\n")
        .map((line) => Object.keys(JSON.parse(line))),
    ).toEqual(Array.from({ length: 3 }, () => expect.arrayContaining(["partNo", "shortID"])));
    const output = fileNamed("report.csv");
    const written = await run(["export", "items", "--json", "--output", output], env);
    expect(JSON.parse(written.out)).toEqual({ resource: "items", records: 3, format: "csv", output });
    expect(await run(["export", "items", "--json", "--format", "csv"], env)).toMatchObject({ code: 2, out: "" });
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

  it("warns, and exports everything, if the service answers every date with an empty list", async () => {
    const empty = { value: [], totalCount: 0, page: 1, pageSize: 250, pageCount: 0, hasMore: false };
    const rewrite: SandboxOptions["rewrite"] = (response, { url }) =>
      url.includes("modifiedSince") ? Response.json(empty) : response;
    const { env } = await serve({ items: 0, lots: [{ shortID: "A" }, { shortID: "B" }], rewrite });
    const { out, err } = await run(["export", "lots", "--since", "2026-01-01", "--columns", "shortID"], env);
    expect(err).toBe("warning: the service ignores --since for lots; every record is exported.\n2 lots exported.\n");
    expect(out).toBe("shortID\r\nA\r\nB\r\n");
  });

  it("replaces a file, also behind a symbolic link, but no folder or device", async () => {
    const { env } = await serve({ lots: [{ shortID: "A" }] });
    const [file, link] = [fileNamed("replaced.csv", "old"), fileNamed("link.csv")];
    symlinkSync(file, link);
    const args = ["export", "lots", "--columns", "shortID", "--output"];
    expect((await run([...args, link], env)).code).toBe(0);
    expect(readFileSync(file, "utf8")).toBe("shortID\r\nA\r\n");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    for (const [output, err] of [
      [fileNamed(), /^stocklot: --output: .* is not a regular file\. Add the name of a file\.\n$/],
      ["/dev/null", /^stocklot: --output: \/dev\/null is not a regular file\. .* > \/dev\/null\.\n$/],
    ] as const)
      expect(await run([...args, output], env)).toMatchObject({ code: 2, err: expect.stringMatching(err) });
    expect(lstatSync("/dev/null").isFile()).toBe(false);
  });
});
