import { existsSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../../support/with-server.js";
import {
  commandFiles,
  type Ended,
  type RunningCommand,
  receiptsIn,
  runProcess,
  serve,
  start,
} from "../support/run-command.js";

const fileNamed = commandFiles();

/** The exit code of a command that ends by a signal. */
const SIGNALS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const;

/** Sends the signal once the condition is true; returns how the command ended. */
async function interrupt(command: RunningCommand, when: () => boolean, signal: NodeJS.Signals): Promise<Ended> {
  await waitUntil(when);
  command.child.kill(signal);
  return command.ended;
}

describe("an import that is ended", () => {
  it.each([
    ["SIGINT", 130, 1],
    ["SIGTERM", 143, 10],
    ["SIGHUP", 129, 10],
    // 0: the command is killed as soon as its outbox exists. It may still be storing the lines.
    ["SIGKILL", null, 0],
    ["SIGKILL", null, 5],
  ] as const)("by %s (%s) after %d lines continues, and books each line once", async (signal, exitCode, least) => {
    const { sandbox, env } = await serve({ latencyMs: 20 });
    const remarks = Array.from({ length: 40 }, (_, index) => `line ${index}`);
    const lines = remarks.map((remark) => `BOLT-M8,1,1,1,${remark}\n`).join("");
    const file = fileNamed(`receipts-${signal}.csv`, `itemID,units,wid,reasonCode,remark\n${lines}`);
    const outbox = fileNamed(`${signal}-${least}.db`);
    const times = ["--settle", "300ms", "--timeout", "300ms", "--rate-limit", "100000"];
    const args = ["import", file, "--operation", "receive", "--outbox", outbox, ...times];
    const command = start(args, env);
    const isDue = () => (least === 0 ? existsSync(outbox) : receiptsIn(sandbox).length >= least);
    const { code, err } = await interrupt(command, isDue, signal);
    expect(code).toBe(exitCode);
    if (code !== null) expect(err).toMatch(/(^|\n)stocklot: interrupted; run it again to continue\n$/);
    expect(receiptsIn(sandbox).length).toBeLessThan(40);
    const continued = await runProcess(args, env);
    expect(continued.code).toBe(0);
    const ofWhich = least > 1 ? ", of which \\d+ were sent by an earlier import" : "";
    if (least > 0) expect(continued.err).toMatch(new RegExp(`: continues the import of \\S+Z\\.\n40 lines${ofWhich}`));
    const sent = receiptsIn(sandbox).map(({ remark }) => String(remark).replace(/^\[sl:\w+\] ?/, ""));
    expect(sent.sort()).toEqual(remarks.sort());
  });
});

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
    expect(readdirSync(fileNamed()).filter((name) => name.startsWith(`removed-${signal}`))).toEqual([]);
  });

  it("lets the requests of an import finish, and ends it at once the second time", async () => {
    const { sandbox, env } = await serve({ faults: [{ method: "POST", path: "/Inventory/*", fault: "hang" }] });
    const file = fileNamed(`hanging-${signal}.csv`, "itemID,units,wid,reasonCode\nBOLT-M8,1,1,1\n");
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
    expect(await runProcess(args, env)).toMatchObject({ code: 0, out: expect.stringMatching(/^lots .* 3000$/m) });
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
