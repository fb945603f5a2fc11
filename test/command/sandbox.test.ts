import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { InventoryClient } from "stocklot";
import { createMirror, sqliteSink } from "stocklot/mirror";
import { beforeEach, describe, expect, it } from "vitest";
import { greeting, requestLine } from "../../src/command/sandbox/command.js";
import { faultOption } from "../../src/command/sandbox/fault-option.js";
import { currentShell } from "../../src/command/shell.js";
import { painter } from "../../src/command/terminal.js";
import { createSandbox } from "../../src/sandbox/index.js";
import { DEFAULT_ITEM_FIELDS, DEFAULT_LOT_FIELDS } from "../../src/sandbox/state.js";
import { Caller } from "../sandbox/support/caller.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { waitUntil } from "../support/with-server.js";
import { run, start } from "./support/run-command.js";

/** Starts the command and waits until it has printed the variables. */
async function started(...args: string[]) {
  const command = start(["sandbox", "--port", "0", "--shell", "posix", ...args]);
  const { child, output } = command;
  while (!output.out.includes("CLIENT_SECRET")) {
    if (child.exitCode !== null) throw new Error(`The command ended early: ${output.err}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const variable = (name: string) => new RegExp(`^export ${name}=(\\S+)$`, "m").exec(output.out)?.[1] ?? "";
  const clientId = variable("STOCKLOT_CLIENT_ID");
  const api = new Caller(variable("STOCKLOT_BASE_URL"), { clientId, clientSecret: variable("STOCKLOT_CLIENT_SECRET") });
  return { ...command, api };
}

/** What a service may have: a field that it left out, one that it has added, a lot with negative units. */
async function addOddRecords(path: string): Promise<void> {
  const database = await sqliteSink({ path }).open();
  const columns = (record: object) => Object.keys(record).map((name) => `"${name}"`);
  const insert = async (table: string, record: Record<string, string | number | boolean | null>) => {
    const values = Object.values(record).map((value) => (typeof value === "boolean" ? Number(value) : value));
    const places = values.map((_, index) => `$${index + 1}`);
    await database.query(`INSERT INTO ${table} (${columns(record)}) VALUES (${places})`, values);
  };
  const { putUp: _, ...item } = DEFAULT_ITEM_FIELDS;
  const dates = { created: "2026-01-01T00:00:00Z", modified: "2026-01-01T00:00:00Z" };
  await insert("items", { ...item, partNo: 9_001, shortID: "ODD-1", ...dates });
  const lot = {
    ...DEFAULT_LOT_FIELDS,
    ...{ partNo: 9_001, shortID: "ODD-1", received: "2026-01-01T00:00:00Z", wID: 77, warehouse: "Attic" },
  };
  await insert("lots", { ...lot, recNo: 9_000_001, units: 3, extra: '{"grade":"A"}' });
  await insert("lots", { ...lot, recNo: 9_000_002, units: -2 });
  await database.close();
}

describe("stocklot sandbox", () => {
  // Each command is a process of its own, which takes seconds.
  beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

  it("prints variables that work, logs each request, and stops cleanly on Ctrl-C", async () => {
    const { child, output, ended, api } = await started("--lots", "30", "--items", "5", "--rate-limit", "7");
    expect(api.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/);
    expect((await api.get("/Inventory?pageSize=3")).body.totalCount).toBe(30);
    expect((await api.get("/Nowhere")).status).toBe(404);
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 0, err: "" });
    const lines = output.out.trimEnd().split("\n").slice(4);
    expect(lines).toEqual([
      expect.stringMatching(/^[\d:.]{12} {2}POST {4}200 {2}\/Token {2}6 left$/),
      expect.stringMatching(/GET {5}200 {2}\/Inventory\?pageSize=3 {2}5 left$/),
      expect.stringMatching(/GET {5}404 {2}\/Nowhere {2}4 left$/),
      "# stopped",
    ]);
  });

  it("starts with the items and lots of a copy, which stays as it is", async () => {
    const own = createSandbox({ items: 20, lots: 150, rateLimit: false, seed: 9 });
    const client = new InventoryClient({ baseUrl: own.baseUrl, ...own.credentials, fetch: own.fetch });
    const folder = mkdtempSync(join(tmpdir(), "stocklot-from-"));
    const path = join(folder, "stock.db");
    const early = await run(["sandbox", "--port", "0", "--from", path]);
    expect(early).toMatchObject({ code: 2, err: expect.stringContaining("does not exist") });
    await createMirror({ client, sink: sqliteSink({ path }) }).run();
    await addOddRecords(path);
    const before = readFileSync(path);
    const { child, output, ended, api } = await started("--from", path, "--rate-limit", "off");
    expect(output.out).toMatch(
      /^# 21 items and 151 lots of the copy, as of 20\S+\. 1 lot with negative units left out\. onOrder, .* are 0/m,
    );
    const rehearsal = new InventoryClient({
      ...{ baseUrl: api.baseUrl, clientId: "sandbox-client", clientSecret: "sandbox-secret", rateLimit: false },
    });
    const lots = await rehearsal.inventory.listLots().toArray();
    const original = await client.inventory.listLots().toArray();
    const sorted = (records: typeof lots) => records.sort((a, b) => a.recNo - b.recNo);
    expect(sorted(lots).slice(0, -1)).toEqual(sorted(original));
    expect(lots.at(-1)).toMatchObject({ recNo: 9_000_001, wID: 77, warehouse: "Attic", units: 3, grade: "A" });
    expect(await rehearsal.items.list({ includeDiscontinued: true }).toArray()).toHaveLength(21);
    expect(await rehearsal.inventory.listStockLevels({ wid: 77 }).toArray()).toMatchObject([
      { inStock: 3, onOrder: 0 },
    ]);
    await rehearsal.inventory.receive({ itemID: "ODD-1", units: 2, wid: 77, reasonCode: 1 });
    await rehearsal.close();
    child.kill("SIGINT");
    await ended;
    expect(readFileSync(path).equals(before)).toBe(true);
    const mixed = await run(["sandbox", "--from", path, "--items", "3"]);
    expect(mixed).toMatchObject({ code: 2, err: expect.stringContaining("--items") });
    rmSync(folder, { recursive: true });
  });

  it("takes every option", async () => {
    const faults = ["--fault", "POST /Inventory/Receive drop-after times=1", "--fault", "/Item 503 times=1"];
    const { api } = await started(
      "--seed",
      "5",
      "--latency",
      "1-3",
      "--token-ttl",
      "9",
      "--rate-limit",
      "off",
      ...faults,
    );
    expect((await api.requestToken()).body.expires_in).toBe(9);
    expect((await api.get("/Item")).status).toBe(503);
    expect((await api.get("/Item")).status).toBe(200);
    await expect(api.post("/Inventory/Receive", {})).rejects.toThrow("fetch failed");
    expect((await api.post("/Inventory/Receive", {})).status).toBe(400);
  });

  it("prints JSON lines for programs", async () => {
    const { child, output, ended } = start(["sandbox", "--port", "0", "--json"]);
    await waitUntil(() => output.out.includes("\n"));
    const { baseUrl, ...credentials } = JSON.parse(output.out);
    expect((await new Caller(baseUrl, credentials).get("/Item?pageSize=1")).status).toBe(200);
    child.kill("SIGINT");
    const { code, out, err } = await ended;
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(lines.slice(1)).toMatchObject([
      { method: "POST", path: "/Token", status: 200 },
      { method: "GET", path: "/Item", query: { pageSize: "1" }, status: 200, clientId: credentials.clientId },
    ]);
    expect(JSON.stringify(lines.slice(1))).not.toContain(credentials.clientSecret);
  });

  it("can be read-only", async () => {
    const { api } = await started("--read-only");
    expect((await api.post("/Item", { shortID: "A" })).body.message).toBe("Account is read-only.");
  });

  it("reports that the port is taken", async () => {
    const { api } = await started();
    const { port } = new URL(api.baseUrl);
    const { code, err } = await run(["sandbox", "--port", port]);
    expect(code).toBe(1);
    expect(err).toContain(`Port ${port} is taken.`);
  });

  it("has --help and --version, and refuses wrong arguments", async () => {
    const [help, version, unknown, invalid, misspelt] = await Promise.all([
      run(["sandbox", "--help"]),
      run(["--version"]),
      run(["sandbox", "--prot", "1"]),
      run(["sandbox", "--fault", "* drop times=-1"]),
      run(["sandbox", "--fault", "/inventory/receive drop"]),
    ]);
    expect([help.code, version.code, unknown.code, invalid.code, misspelt.code]).toEqual([0, 0, 2, 2, 2]);
    expect(help.out).toMatch(/--port[\s\S]*--items[\s\S]*--read-only[\s\S]*--fault/);
    expect(version.out).toMatch(/^\d+\.\d+\.\d+/);
    expect(unknown.err).toContain("--prot");
    expect(invalid.err).toContain("faults[0].times: must be");
    expect(misspelt.err).toContain('The path "/inventory/receive" matches no endpoint.');
    for (const { err } of [unknown, invalid, misspelt]) expect(err).not.toContain("    at ");
  });
});

describe("its arguments", () => {
  it.each([
    ["503", { fault: { type: "status", status: 503 } }],
    ["GET hang", { method: "GET", fault: { type: "hang" } }],
    ["* drop-after", { path: "*", fault: { type: "drop", when: "after" } }],
    ["/Item* drop-after", { path: "/Item*", fault: { type: "drop", when: "after" } }],
    ["/Inventory/3 hang", { path: "/Inventory/3", fault: { type: "hang" } }],
    ["slow delay=9 chunk=2 skip=1", { skip: 1, fault: { type: "slow", delayMs: 9, chunkBytes: 2 } }],
    ["truncated bytes=7 probability=0.5", { probability: 0.5, fault: { type: "truncated", bytes: 7 } }],
  ])("read the fault %s", (text, rule) => {
    expect(faultOption(text)).toEqual([rule]);
  });

  it.each([
    ["GET explode", /"explode" is neither a status nor one of/],
    ["hang bytes=1", /no detail "bytes" for hang/],
    ["slow delay=soon", /is not name=number/],
    ["/inventory/* drop", /matches no endpoint/],
    ["/Inventory/Recieve drop", /matches no endpoint/],
    ["DELETE /Inventory/Receive drop", /matches no endpoint/],
    ["/api/v1/Item drop", /matches no endpoint/],
  ])("refuse the fault %s", (text, message) => {
    expect(() => faultOption(text)).toThrow(message);
  });

  it("print the variables for each shell", () => {
    const sandbox = createSandbox();
    const line = (shell: Parameters<typeof greeting>[0]) =>
      greeting(shell, "http://127.0.0.1:1/api/v1", sandbox).split("\n")[1];
    expect(line("posix")).toBe("export STOCKLOT_BASE_URL=http://127.0.0.1:1/api/v1");
    expect(line("powershell")).toBe('$env:STOCKLOT_BASE_URL = "http://127.0.0.1:1/api/v1"');
    expect(line("cmd")).toBe("set STOCKLOT_BASE_URL=http://127.0.0.1:1/api/v1");
    expect(currentShell({ platform: "linux", env: {} })).toBe("posix");
    expect(currentShell({ platform: "win32", env: { PSModulePath: "a;b;c" } })).toBe("powershell");
    expect(currentShell({ platform: "win32", env: { PSModulePath: "a" } })).toBe("cmd");
  });
});

describe("the request log on a terminal", () => {
  const plain = painter(new PassThrough());
  const coloured = painter(Object.assign(new PassThrough(), { isTTY: true }));
  const request = { method: "GET", path: "/Item", query: { page: "2" }, body: undefined, clientId: "c", at: 0 };

  it("has colour, and none in a pipe", () => {
    const completed = { ...request, status: 200, remaining: null, fault: undefined };
    expect(requestLine(completed, plain)).toBe("00:00:00.000  GET     200  /Item?page=2  no limit");
    expect(requestLine(completed, coloured)).toContain("\u001b[32m200\u001b[0m");
  });

  it("shows that there was no response, and why", () => {
    const dropped = { ...request, status: null, remaining: 3, fault: "drop" };
    expect(requestLine(dropped, plain)).toBe("00:00:00.000  GET     ---  /Item?page=2  3 left  fault: drop");
    expect(requestLine({ ...dropped, status: 404 }, coloured)).toContain("\u001b[33m404");
  });
});
