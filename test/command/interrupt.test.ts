import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { waitUntil } from "../support/with-server.js";
import { type Ended, type RunningCommand, run, serve, start } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-interrupt-"));
afterAll(() => rmSync(directory, { recursive: true }));
const fileNamed = (name: string) => join(directory, name);

/** What each signal ends a command with. */
const SIGNALS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const;

/** Sends the signal once the condition is true; returns how the command ended. */
async function interrupt(command: RunningCommand, when: () => boolean, signal: NodeJS.Signals): Promise<Ended> {
  await waitUntil(when);
  command.child.kill(signal);
  return command.ended;
}

// Each command is a process of its own, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

describe.each(SIGNALS)("%s", (signal, exitCode) => {
  const interrupted = (advice = "") => ({ code: exitCode, err: `stocklot: interrupted${advice}\n` });

  it.each(["/Token", "/Item"])("ends the doctor while %s hangs", async (path) => {
    const { sandbox, env } = await serve({ faults: [{ path, fault: { type: "hang" } }] });
    const ended = await interrupt(
      start(["doctor", "--json"], env),
      () => sandbox.requests.some((request) => request.path === path),
      signal,
    );
    expect(ended).toEqual({ ...interrupted(), out: "" });
  });

  it("ends an export to a file, and leaves none", async () => {
    const { sandbox, env } = await serve({ items: 5, lots: 3_000, latencyMs: 30 });
    const file = fileNamed(`removed-${signal}.csv`);
    const command = start(["export", "lots", "--output", file], env);
    expect(await interrupt(command, () => sandbox.requests.length > 4, signal)).toEqual({ ...interrupted(), out: "" });
    expect(readdirSync(directory).filter((name) => name.startsWith(`removed-${signal}`))).toEqual([]);
  });

  it("ends an import, which continues and books each line once", async () => {
    const { sandbox, env } = await serve({ latencyMs: 20 });
    const file = fileNamed(`receipts-${signal}.csv`);
    const remarks = Array.from({ length: 40 }, (_, index) => `line ${index}`);
    const lines = remarks.map((remark) => `BOLT-M8,1,1,1,${remark}`);
    writeFileSync(file, `itemID,units,wid,reasonCode,remark\n${lines.join("\n")}\n`);
    const args = ["import", file, "--operation", "receive", "--outbox", fileNamed(`${signal}.db`), "--mark", "remark"];
    const booked = () => sandbox.requests.filter(({ path, status }) => path === "/Inventory/Receive" && status === 201);
    const ended = await interrupt(start(args, env), () => booked().length >= 10, signal);
    expect(ended).toMatchObject({
      code: exitCode,
      out: "",
      err: expect.stringMatching(/\nstocklot: interrupted; run it again to continue\n$/),
    });
    expect(booked().length).toBeLessThan(40);
    const { code, err } = await run(args, env);
    expect(code).toBe(0);
    expect(err).toMatch(/: continues the import of \S+Z\.\n40 lines, of which \d+ were sent by an earlier import/);
    const sent = booked().map(({ body }) => String(Reflect.get(Object(body), "remark")).replace(/^\[sl:\w+\] ?/, ""));
    expect(sent.sort()).toEqual(remarks.sort());
  });

  it("lets the requests of an import finish, and ends it at once the second time", async () => {
    const { sandbox, env } = await serve({ faults: [{ method: "POST", path: "/Inventory/*", fault: "hang" }] });
    const file = fileNamed(`hanging-${signal}.csv`);
    writeFileSync(file, "itemID,units,wid,reasonCode\nBOLT-M8,1,1,1\n");
    const args = ["import", file, "--operation", "receive", "--outbox", fileNamed(`hanging-${signal}.db`)];
    const { child, output, ended } = start(args, env);
    await waitUntil(() => sandbox.requests.some(({ path }) => path === "/Inventory/Receive"));
    child.kill(signal);
    await waitUntil(() => output.err.endsWith("Waiting for requests under way; Ctrl-C again ends at once.\n"));
    child.kill(signal);
    await ended;
    expect(child.signalCode).toBe(signal);
  });

  it("ends a run of a mirror, which the next run completes", async () => {
    const { sandbox, env } = await serve({ items: 5, lots: 3_000, latencyMs: 30 });
    const args = ["mirror", "--sqlite", fileNamed(`run-${signal}.db`)];
    const ended = await interrupt(start(args, env), () => sandbox.requests.length > 8, signal);
    const err = expect.stringMatching(/(^|\n)stocklot: interrupted; the next run continues\n$/);
    expect(ended).toEqual({ code: exitCode, err, out: "" });
    expect(await run(args, env)).toMatchObject({ code: 0, out: expect.stringMatching(/^lots .* 3000$/m) });
  });

  it("stops a sandbox successfully, also while a request hangs", async () => {
    const command = start(["sandbox", "--port", "0", "--fault", "* hang"]);
    await waitUntil(() => command.output.out.includes("CLIENT_SECRET"));
    const [, url = ""] = /BASE_URL=(\S+)/.exec(command.output.out) ?? [];
    const request = fetch(`${url}/Item`).catch(() => "ended");
    const ended = await interrupt(command, () => command.output.out.includes("/Item"), signal);
    expect(ended).toMatchObject({ code: 0, out: expect.stringMatching(/\n# stopped\n$/), err: "" });
    expect(await request).toBe("ended");
  });
});
