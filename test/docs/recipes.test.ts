import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { InventoryClient } from "stocklot";
import { createSandbox, type Sandbox } from "stocklot/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import { COMMAND_FILE } from "../command/support/run-command.js";
import { findRedis } from "../redis/support/redis-server.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { blocksOf, guides } from "./support/markdown.js";
import { buildSnippets, type Ended } from "./support/run-snippet.js";
import { RECIPES, snippets } from "./support/snippets.js";

const page = guides().find(({ path }) => path === RECIPES) ?? { path: RECIPES, text: "" };
const blocks = blocksOf(page, "ts", "sh");

/** The recipes by the first words of their headings. */
const recipes = new Map(
  page.text
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split("\n", 1)[0] ?? "", blocks.filter(({ code }) => section.includes(code))]),
);

it("there are nine recipes, each one program of at most 25 lines", () => {
  expect(recipes.size).toBe(9);
  for (const [heading, programs] of recipes) {
    expect(programs, heading).toHaveLength(1);
    expect(programs[0]?.code.trimEnd().split("\n").length, heading).toBeLessThan(26);
  }
});

it("the programs are plain JavaScript, as the page states", () => {
  for (const { info, code } of blocks)
    if (info === "ts") expect(() => transformSync(code, { loader: "js" })).not.toThrow();
});

interface Prepared {
  readonly sandbox: Sandbox;
  /** Reads the sandbox, apart from the recipe. */
  readonly client: InventoryClient;
  readonly folder: string;
  /** Runs the recipe, of a shell only the lines that match. */
  run(lines?: RegExp): Promise<Ended>;
}

/** A recipe that can be run against a sandbox of its own, in a folder with these files. */
async function prepare(
  heading: string,
  files: Record<string, string> = {},
  variables: Record<string, string> = {},
): Promise<Prepared> {
  const [block] = [...recipes].find(([each]) => each.startsWith(heading))?.[1] ?? [];
  if (!block) throw new Error(`there is no recipe "${heading}"`);
  const sandbox = createSandbox({ rateLimit: false });
  const server = await sandbox.listen();
  const folder = mkdtempSync(join(tmpdir(), "stocklot-recipe-"));
  onTestFinished(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const environment = {
    NODE_NO_WARNINGS: "1",
    STOCKLOT_BASE_URL: server.url,
    STOCKLOT_CLIENT_ID: sandbox.credentials.clientId,
    STOCKLOT_CLIENT_SECRET: sandbox.credentials.clientSecret,
    ...variables,
  };
  const { baseUrl, credentials, fetch } = sandbox;
  const client = new InventoryClient({ baseUrl, ...credentials, fetch, rateLimit: false });
  const run = block.info === "sh" ? shell(block.code, folder, environment) : await program(block.line, environment);
  return { sandbox, client, folder, run };
}

async function program(line: number, environment: Record<string, string>): Promise<Prepared["run"]> {
  const snippet = snippets().find((each) => each.page === RECIPES && each.line === line);
  if (!snippet) throw new Error(`line ${line} has no program`);
  const built = await buildSnippets([snippet], {}, environment);
  onTestFinished(() => built.remove());
  return () => built.run(snippet);
}

/** `npx stocklot` is the command that was built from the sources. */
function shell(code: string, folder: string, environment: Record<string, string>): Prepared["run"] {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "npx"), `#!/bin/sh\nshift\nexec "${process.execPath}" "${COMMAND_FILE}" "$@"\n`);
  chmodSync(join(bin, "npx"), 0o755);
  const env = { ...environment, PATH: `${bin}:${process.env.PATH}` };
  const commands = code.split(/(?<!\\)\n/);
  return (lines = /^/) =>
    new Promise((resolve) => {
      const script = commands.filter((line) => lines.test(line)).join("\n");
      execFile("bash", ["-c", script], { cwd: folder, env }, (error, out, err) => {
        resolve({ exitCode: error ? Number(error.code) : 0, output: `${out}${err}` });
      });
    });
}

const done = { exitCode: 0, output: expect.any(String) };
const count = (sandbox: Sandbox, method: string, path: string) =>
  sandbox.requests.filter((request) => request.method === method && request.path.startsWith(path)).length;

describe.skipIf(!RUN_ALL)(`the recipes work (${ONLY_IN_TEST_ALL})`, () => {
  it("a web endpoint returns the stock of a cart", async () => {
    const { run, client } = await prepare("Return the stock", {}, { PORT: `${await freePort()}` });
    const { exitCode, output } = await run();
    expect(exitCode, output).toBe(0);
    const level = await client.inventory.getStockLevel("BOLT-M8");
    expect(output).toContain(`[{"sku":"BOLT-M8","available":${level?.available}}]`);
  });

  it("the oldest lots are issued, once, however often the program runs", async () => {
    const { run, client, sandbox } = await prepare("Issue the oldest lots");
    const read = () => client.inventory.getLots("BOLT-M8", { wid: 3 });
    const before = await read();
    const total = (lots: Awaited<ReturnType<typeof read>>) => lots.reduce((sum, { units }) => sum + units, 0);
    expect(await run()).toEqual(done);
    const issues = count(sandbox, "POST", "/Inventory/Issue");
    const after = await read();
    expect(total(before) - total(after)).toBeCloseTo(60, 6);
    const usable = before
      .filter(({ hold, active, shipped, units }) => !hold && active && !shipped && units > 0)
      .sort((a, b) => Date.parse(a.received) - Date.parse(b.received));
    const changed = usable.map(({ recNo, units }) => units !== after.find((lot) => lot.recNo === recNo)?.units);
    expect(changed).toEqual(usable.map((_, index) => index < issues));
    expect(await run()).toEqual(done);
    expect(count(sandbox, "POST", "/Inventory/Issue")).toBe(issues);
  });

  it("a report is written to CSV", async () => {
    const { run, client, folder } = await prepare("Write a nightly report");
    expect(await run()).toEqual(done);
    const { totalCount } = await client.inventory.listStockLevels().page();
    const lines = readFileSync(join(folder, "stock.csv"), "utf8").trimEnd().split("\r\n");
    expect(lines).toHaveLength(totalCount + 1);
    expect(lines[0]).toMatch(/^shortID,/);
  });

  it("the catalog is brought in step with a file", async () => {
    const erp = "shortID,description,category\nBOLT-M8,Changed,3\nNEW-1,New,3\n";
    const { run, client, sandbox } = await prepare("Keep the catalog", { "erp.csv": erp });
    expect(await run()).toEqual(done);
    expect(await client.items.get("BOLT-M8")).toMatchObject({ description: "Changed" });
    expect(await client.items.get("NEW-1")).toMatchObject({ description: "New" });
    expect(await run()).toEqual(done);
    expect([count(sandbox, "PUT", "/Item"), count(sandbox, "POST", "/Item")]).toEqual([1, 1]);
  });

  it("a delivery is imported, once", async () => {
    const delivery = "itemID,units,wid,reasonCode\nBOLT-M8,50,3,1\nBOLT-M8,20,3,1\n";
    const { run, sandbox } = await prepare("Import a daily delivery", { "delivery.csv": delivery });
    expect(await run()).toEqual(done);
    expect(await run()).toMatchObject({ exitCode: 3 });
    expect(count(sandbox, "POST", "/Inventory/Receive")).toBe(2);
  });

  it("a warehouse is counted", async () => {
    const { run, client, folder } = await prepare("Count a warehouse");
    expect(await run(/snapshot/)).toEqual(done);
    const sheet = join(folder, "sheet.csv");
    const before = await client.inventory.getStockLevel("BOLT-M8", { wid: 3 });
    // One less than the book says, in one bin. A description may contain commas, quoted.
    let isCounted = false;
    const rows = readFileSync(sheet, "utf8")
      .split("\r\n")
      .map((row) => {
        const book = Number(row.split(",").at(-2));
        if (isCounted || !row.includes(",BOLT-M8,") || book < 2) return row;
        isCounted = true;
        return `${row}${book - 1}`;
      });
    expect(isCounted).toBe(true);
    writeFileSync(sheet, rows.join("\r\n"));
    expect(await run(/plan/)).toEqual(done);
    const after = await client.inventory.getStockLevel("BOLT-M8", { wid: 3 });
    expect((after?.inStock ?? 0) - (before?.inStock ?? 0)).toBeCloseTo(-1, 6);
  });

  it("a mirror that fails sends a message", async () => {
    const messages: string[] = [];
    const alerts = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      messages.push(text);
      response.end();
    });
    await new Promise<void>((resolve) => alerts.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void alerts.close());
    const { port } = alerts.address() as AddressInfo;
    const { run, sandbox } = await prepare("Mirror at night", {}, { ALERT_URL: `http://127.0.0.1:${port}/` });
    expect(await run()).toEqual(done);
    expect(messages).toEqual([]);
    sandbox.addFault({ path: "/Item*", fault: 401 });
    expect(await run()).toEqual(done);
    expect(messages).toEqual([expect.stringContaining("401"), expect.stringMatching(/failed/)]);
  });

  it("the tests of the 429 handling pass", async () => {
    const { run } = await prepare("Test how your code");
    expect(await run()).toEqual({ exitCode: 0, output: expect.stringContaining("2 passed") });
  });

  it("containers share one limit", async ({ skip }) => {
    const redis = await findRedis();
    skip(!redis, "there is no Redis");
    onTestFinished(() => redis?.close());
    const { run } = await prepare("Share one limit", {}, { REDIS_URL: redis?.url ?? "" });
    expect(await run()).toEqual({ exitCode: 0, output: expect.stringContaining("shortID: 'BOLT-M8'") });
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
