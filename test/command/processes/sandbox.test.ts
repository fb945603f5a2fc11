import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { InventoryClient, type Lot } from "stocklot";
import { createMirror, sqliteSink } from "stocklot/mirror";
import { describe, expect, it } from "vitest";
import { greeting } from "../../../src/command/sandbox/command.js";
import { faultOption } from "../../../src/command/sandbox/fault-option.js";
import { currentShell } from "../../../src/command/shell.js";
import { createSandbox, type SandboxOptions } from "../../../src/sandbox/index.js";
import { Caller } from "../../sandbox/support/caller.js";
import { waitUntil } from "../../support/with-server.js";
import { commandFiles, runProcess, start } from "../support/run-command.js";

/** Starts the command and waits until it has printed the variables. */
async function started(...args: string[]) {
  const command = start(["sandbox", "--port", "0", ...args]);
  const { child, output } = command;
  await waitUntil(() => output.out.includes("CLIENT_SECRET") || child.exitCode !== null);
  const variable = (name: string) => new RegExp(`^export ${name}=(\\S+)$`, "m").exec(output.out)?.[1] ?? "";
  const clientId = variable("STOCKLOT_CLIENT_ID");
  const api = new Caller(variable("STOCKLOT_BASE_URL"), { clientId, clientSecret: variable("STOCKLOT_CLIENT_SECRET") });
  return { ...command, api };
}

/** Makes records that differ from the document: a missing field, an additional field, a lot with negative units. */
const withOddRecords: SandboxOptions["rewrite"] = async (response, request) => {
  const { pathname } = new URL(request.url);
  if (!response.ok || !/\/(Inventory|All)$/.test(pathname)) return response;
  const page = Object(await response.json());
  page.value = page.value.map((record: { shortID: string; recNo?: number }) => {
    if (record.recNo === 100_002) return { ...record, units: -2 };
    return record.recNo === 100_001 ? { ...record, grade: "A" } : { ...record, putUp: undefined };
  });
  return Response.json(page, response);
};

describe("stocklot sandbox", () => {
  const fileNamed = commandFiles();

  it("prints variables that work, logs each request, and stops cleanly on Ctrl-C", async () => {
    const { child, output, ended, api } = await started("--lots", "30", "--items", "5");
    expect(api.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/);
    expect((await api.get("/Inventory?pageSize=3")).body.totalCount).toBe(30);
    expect((await api.get("/Nowhere")).status).toBe(404);
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 0, err: "" });
    const lines = output.out.trimEnd().split("\n").slice(4);
    expect(lines).toEqual([
      expect.stringMatching(/^[\d:.]{12} {2}POST {4}200 {2}\/Token {2}99 left$/),
      expect.stringMatching(/GET {5}200 {2}\/Inventory\?pageSize=3 {2}98 left$/),
      expect.stringMatching(/GET {5}404 {2}\/Nowhere {2}97 left$/),
      "# stopped",
    ]);
  });

  it("listens where it is told, with another rate limit and latency", async () => {
    const { api } = await started("--host", "localhost", "--rate-limit", "2", "--latency", "50", "--lots", "0");
    expect(api.baseUrl).toMatch(/^http:\/\/localhost:\d+\//);
    const statuses = [await api.get("/Item"), await api.get("/Item")].map(({ status }) => status);
    expect(statuses).toEqual([200, 429]);
    const unlimited = await started("--rate-limit", "off");
    for (let times = 0; times < 110; times += 1) expect((await unlimited.api.get("/Item?pageSize=1")).status).toBe(200);
    const nowhere = await runProcess(["sandbox", "--port", "0", "--host", "203.0.113.1"]);
    expect(nowhere).toMatchObject({
      code: 1,
      err: expect.stringContaining("--host: this machine has no address 203.0.113.1"),
    });
    expect(await runProcess(["sandbox", "--rate-limit", "none"])).toMatchObject({ code: 2 });
  });

  it("prints lines for the shell that has started it, and for others if other machines can reach it", async () => {
    const paths = { PSModulePath: "C:\\Users\\a;C:\\Program Files;C:\\Windows" };
    expect([
      currentShell({ platform: "linux", env: {} }),
      currentShell({ platform: "darwin", env: { PSModulePath: "/usr/local/share/powershell/Modules" } }),
      currentShell({ platform: "win32", env: paths }),
      currentShell({ platform: "win32", env: { PSModulePath: "C:\\Windows" } }),
      currentShell({ platform: "win32", env: { ...paths, SHELL: "/usr/bin/bash" } }),
    ]).toEqual(["posix", "powershell", "powershell", "cmd", "posix"]);
    const sandbox = { credentials: { clientId: "id", clientSecret: "secret" } };
    expect(greeting("powershell", "http://127.0.0.1:1/v1", sandbox).split("\n").slice(1)).toEqual([
      '$env:STOCKLOT_BASE_URL = "http://127.0.0.1:1/v1"',
      '$env:STOCKLOT_CLIENT_ID = "id"',
      '$env:STOCKLOT_CLIENT_SECRET = "secret"',
    ]);
    expect(greeting("cmd", "http://127.0.0.1:1/v1", sandbox)).toMatch(/^REM .*\nset STOCKLOT_BASE_URL=http:/);
    const { output } = await started("--host", "0.0.0.0");
    const port = /0\.0\.0\.0:(\d+)/.exec(output.out)?.[1];
    const url = `http://${hostname()}:${port}/api/v1`;
    expect(output.out).toContain(`\n#   export STOCKLOT_BASE_URL=${url}\n`);
    expect(output.out).toContain(`\n#   $env:STOCKLOT_BASE_URL = "${url}"\n`);
  });

  it("starts with the items and lots of a copy, which stays as it is", async () => {
    const own = createSandbox({ items: 20, lots: 150, rateLimit: false, seed: 9, rewrite: withOddRecords });
    const { baseUrl, credentials, fetch } = own;
    const client = new InventoryClient({ baseUrl, ...credentials, fetch, responseValidation: "off" });
    const path = fileNamed("stock.db");
    const early = await runProcess(["sandbox", "--port", "0", "--from", path]);
    expect(early).toMatchObject({ code: 2, err: expect.stringContaining("does not exist") });
    await createMirror({ client, sink: sqliteSink({ path }) }).run();
    const before = readFileSync(path);
    const { child, output, ended, api } = await started("--from", path);
    expect(output.out).toMatch(
      /^# 20 items and 149 lots of the copy\. 1 lot with negative units left out\. onOrder, .* are 0/m,
    );
    const rehearsal = new InventoryClient({ baseUrl: api.baseUrl, ...own.credentials, rateLimit: false });
    const sorted = (records: Lot[]) => records.sort((a, b) => a.recNo - b.recNo).filter(({ units }) => units >= 0);
    expect(sorted(await rehearsal.inventory.listLots().toArray())).toEqual(
      sorted(await client.inventory.listLots().toArray()),
    );
    expect(await rehearsal.items.list({ includeDiscontinued: true }).toArray()).toHaveLength(20);
    await rehearsal.inventory.receive({ itemID: "BOLT-M8", units: 2, wid: 3, reasonCode: 1 });
    await rehearsal.close();
    child.kill("SIGINT");
    await ended;
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("takes fault rules", async () => {
    const { api } = await started(
      ...["--fault", "POST /Inventory/Receive drop-after times=1", "--fault", "/Item 503 times=1"],
    );
    expect((await api.get("/Item")).status).toBe(503);
    expect((await api.get("/Item")).status).toBe(200);
    await expect(api.post("/Inventory/Receive", {})).rejects.toThrow("fetch failed");
    expect((await api.post("/Inventory/Receive", {})).status).toBe(400);
  });
});

describe("its arguments", () => {
  it.each([
    ["503", { fault: 503 }],
    ["GET hang", { method: "GET", fault: "hang" }],
    ["* drop-after", { path: "*", fault: "drop-after" }],
    ["/Inventory/3 hang", { path: "/Inventory/3", fault: "hang" }],
    ["/Item/A* hang", { path: "/Item/A*", fault: "hang" }],
    ["slow delay=9 chunk=2 skip=1", { skip: 1, fault: { type: "slow", delayMs: 9, chunkBytes: 2 } }],
    ["truncated bytes=7 probability=0.5", { probability: 0.5, fault: { type: "truncated", bytes: 7 } }],
  ])("read the fault %s", (text, rule) => {
    expect(faultOption(text)).toEqual([rule]);
  });

  it.each([
    ["GET drop-aftr", /must be a status or one of drop, .*, did you mean "drop-after"\?$/],
    ["hang bytes=1", /bytes: unknown option/],
    ["/Item 503 tims=1", /"tims" is no detail of this fault, did you mean "times"\?/],
    ["503 bytes=1", /"bytes" is no detail of this fault/],
    ["slow delay=soon", /is not name=number/],
    ["/inventory/* drop", /matches no endpoint/],
    ["/Inventory/Recieve drop", /matches no endpoint/],
    ["/api/v1/Item drop", /matches no endpoint/],
  ])("refuse the fault %s", (text, message) => {
    expect(() => faultOption(text)).toThrow(message);
  });
});
