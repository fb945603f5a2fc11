import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../../support/with-server.js";
import { commandFiles, runProcess, serve, start } from "../support/run-command.js";

const fileNamed = commandFiles();
const filesLike = (name: string) => readdirSync(fileNamed()).filter((file) => file.startsWith(name));

describe("stocklot export", () => {
  it("does not exist after a kill, and can be written again", async () => {
    const { env } = await serve({ items: 5, lots: 3_000, latencyMs: 30 });
    const args = ["export", "lots", "--output", fileNamed("again.ndjson")];
    const { child, ended } = start(args, env);
    await waitUntil(() => filesLike("again.ndjson").some((file) => file.endsWith(".part")));
    child.kill("SIGKILL");
    await ended;
    expect(existsSync(fileNamed("again.ndjson"))).toBe(false);
    expect(await runProcess(args, env)).toMatchObject({ code: 0, err: expect.stringContaining("3000 lots exported") });
    expect(readFileSync(fileNamed("again.ndjson"), "utf8").trimEnd().split("\n")).toHaveLength(3_000);
  });

  it("ends quietly if the reader of a pipe has seen enough", async () => {
    const { env } = await serve({ items: 5, lots: 5_000 });
    const { child, ended } = start(["export", "lots"], env);
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await ended).toMatchObject({ code: 0, err: "" });
  });

  it("writes to standard output for -o -, and any name with --format", async () => {
    const { env } = await serve({ lots: [{ shortID: "A", units: 1 }] });
    const lots = ["export", "lots", "--columns", "shortID,units"];
    const out = "shortID,units\r\nA,1\r\n";
    expect(await runProcess([...lots, "-o", "-"], env, fileNamed())).toEqual({
      code: 0,
      out,
      err: "1 lots exported.\n",
    });
    expect(existsSync(fileNamed("-"))).toBe(false);
    for (const name of ["lots.txt", "lots"]) {
      const format = name === "lots" ? [] : ["--format", "csv"];
      expect(await runProcess([...lots, "-o", name, ...format], env, fileNamed())).toMatchObject({ code: 0, out: "" });
      expect(readFileSync(fileNamed(name), "utf8")).toBe(out);
    }
  });

  // A limit for the size of a file fails in the middle of a write, as a full disk does.
  it("says that a file cannot grow, and leaves none", async () => {
    const { env } = await serve({ items: 5, lots: 2_000 });
    const args = ["export", "lots", "-o", fileNamed("full.csv")];
    const full = await runProcess(args, env, undefined, ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh"]);
    expect(full).toMatchObject({ code: 1, out: "" });
    expect(full.err).toMatch(/^stocklot: .*full\.csv\.\d+\.part: EFBIG: file too large, write\n$/);
    expect(filesLike("full.csv")).toEqual([]);
  });

  it("says that standard output cannot be written, without a stack trace", async () => {
    const { env } = await serve({ items: 5, lots: 2_000 });
    const ended = await runProcess(["export", "lots"], env, undefined, ["sh", "-c", 'exec "$@" > /dev/full', "sh"]);
    expect(ended).toMatchObject({
      code: 1,
      err: "stocklot: standard output: ENOSPC: no space left on device, write\n",
    });
  });
});
