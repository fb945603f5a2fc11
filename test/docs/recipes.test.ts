import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { InventoryClient } from "stocklot";
import { createOutbox, postgresOutboxStore } from "stocklot/outbox";
import type { Sandbox } from "stocklot/sandbox";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fieldOf } from "../../src/shared/unknown.js";
import { COMMAND_FILE, serve } from "../command/support/run-command.js";
import { buildPrograms } from "../support/built-program.js";
import { freePort } from "../support/free-port.js";
import { ownFolder } from "../support/own-folder.js";
import { findPostgres } from "../support/postgres-server.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { blocksOf, type CodeBlock, comparable, guides } from "./support/markdown.js";
import { buildSnippets, type Ended, type Visit } from "./support/run-snippet.js";
import { snippets } from "./support/snippets.js";

/** Returns the first program below a heading of a page that is in one of these languages. */
function recipeOf(path: string, heading: string, ...languages: string[]): CodeBlock {
  const page = guides().find((each) => each.path === path);
  const section = page?.text.split(/^###? /m).find((each) => each.startsWith(`${heading}\n`)) ?? "";
  const blocks = page ? blocksOf(page, ...(languages.length > 0 ? languages : ["ts", "sh", "yaml"])) : [];
  const [block] = blocks.filter(({ code }) => section.includes(code));
  if (!block) throw new Error(`${path} has no program below "${heading}"`);
  return block;
}

const fileNamed = ownFolder();
let recipes = 0;

interface Prepared {
  readonly sandbox: Sandbox;
  /** A client with which the test reads the sandbox. The recipe does not use it. */
  readonly client: InventoryClient;
  readonly folder: string;
  /** Runs the recipe. If the recipe is a shell script, only the commands that match `lines` run. */
  run(lines?: RegExp): Promise<Ended>;
}

/** Prepares a recipe to run against a new sandbox, in a folder with these files. */
async function prepare(
  page: string,
  heading: string,
  files: Record<string, string> = {},
  variables: Record<string, string> = {},
  visit?: Visit,
): Promise<Prepared> {
  const block = recipeOf(page, heading);
  const { sandbox, client, env } = await serve();
  recipes += 1;
  const folder = fileNamed(`${recipes}`);
  for (const [name, text] of Object.entries(files)) fileNamed(`${recipes}/${name}`, text);
  const environment = { NODE_NO_WARNINGS: "1", ...env, ...variables };
  const run = block.info.startsWith("ts")
    ? await program(block, environment, visit)
    : shell(linesOf(block), folder, environment);
  return { sandbox, client, folder, run };
}

async function program(
  { page, line }: CodeBlock,
  environment: Record<string, string>,
  visit?: Visit,
): Promise<Prepared["run"]> {
  const snippet = snippets().find((each) => each.page === page && each.line === line);
  if (!snippet) throw new Error(`line ${line} of ${page} has no program`);
  const built = await buildSnippets([snippet], {}, environment);
  onTestFinished(() => built.remove());
  return () => built.run(snippet, visit);
}

/** Builds a recipe, and returns what it exports. */
async function moduleOf(code: string, ending = "ts"): Promise<Record<string, unknown>> {
  recipes += 1;
  const source = fileNamed(`${recipes}/module.${ending}`, code);
  const folder = fileNamed(`${recipes}`);
  await buildPrograms([{ in: source, out: "module" }], folder);
  return import(pathToFileURL(join(folder, "module.mjs")).href);
}

/** Returns the lines of a shell script. For a CI workflow, returns the scripts of the steps that call `npx stocklot`. */
function linesOf({ info, code }: CodeBlock): string {
  if (info === "sh") return code;
  const steps = code.split(/^ *- /m).flatMap((step) => /(?:^|\n *)run: (?:\|\n)?([\s\S]*)/.exec(step)?.[1] ?? []);
  return steps
    .filter((step) => step.includes("npx stocklot"))
    .map((step) => step.replace(/^ +/gm, ""))
    .join("");
}

/** Returns a function that runs a shell script, in which `npx stocklot` is the command built from the sources. */
function shell(code: string, folder: string, environment: Record<string, string>): Prepared["run"] {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "npx"), `#!/bin/sh\nshift\nexec "${process.execPath}" "${COMMAND_FILE}" "$@"\n`);
  chmodSync(join(bin, "npx"), 0o755);
  const env = { npm_command: "exec", ...environment, PATH: `${bin}:${process.env.PATH}` };
  const commands = code.split(/(?<!\\)\n/);
  return (lines = /^/) =>
    new Promise((resolve) => {
      const script = commands.filter((line) => lines.test(line)).join("\n");
      execFile("bash", ["--norc", "-e", "-c", `exec 2>&1\n${script}`], { cwd: folder, env }, (error, out, err) => {
        resolve({ exitCode: error ? Number(error.code) : 0, output: `${out}${err}` });
      });
    });
}

/** A server that receives the messages of the recipes. */
async function listenForAlarms(): Promise<{ messages: string[]; variables: Record<string, string> }> {
  const messages: string[] = [];
  const alarms = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    messages.push(text);
    response.end();
  });
  await new Promise<void>((resolve) => alarms.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void alarms.close());
  const { port } = alarms.address() as AddressInfo;
  return { messages, variables: { ALERT_URL: `http://127.0.0.1:${port}/` } };
}

const done = { exitCode: 0, output: expect.any(String) };
const count = (sandbox: Sandbox, method: string, path: string) =>
  sandbox.requests.filter((request) => request.method === method && request.path.startsWith(path)).length;

describe.skipIf(!RUN_ALL)(`the recipes work (${ONLY_IN_TEST_ALL})`, () => {
  it("a web endpoint returns the stock of a cart", async () => {
    const port = { PORT: `${await freePort()}` };
    const visit: Visit = async (address) => {
      const lines = [];
      for (const query of ["?sku=BOLT-M8", "/", "/?sku=", "/?sku=BOLT-M8&sku=NO-SUCH", "/?sku=FAILS"]) {
        const response = await fetch(new URL(query, address));
        lines.push(`${response.status} ${await response.text()} ${response.headers.get("retry-after") ?? ""}`);
      }
      return lines.join("\n");
    };
    const heading = "Return the stock of a cart from a web endpoint";
    const { run, client, sandbox } = await prepare("docs/recipes.md", heading, {}, port, visit);
    await client.items.create({ shortID: "FAILS" });
    sandbox.onRequest(({ query }) => {
      if (query.key === "FAILS") sandbox.addFault({ path: "/Inventory/*", fault: 501 });
    });
    const { exitCode, output } = await run();
    expect(exitCode, output).toBe(0);
    sandbox.clearFaults();
    const level = await client.inventory.getStockLevel("BOLT-M8");
    expect(output).toContain(`200 [{"sku":"BOLT-M8","available":${level?.available}}]`);
    expect(output).toMatch(/^400 {"error":"Pass 1 to 20 times sku=…"}/m);
    expect(output).toMatch(/^400 {"error":".*shortIDs.*"}/m);
    expect(output).toMatch(/^503 {"error":"Try again later\."} 5$/m);
  });

  it("the oldest lots are issued, once, however often the program runs", async () => {
    const { run, client, sandbox } = await prepare("docs/recipes.md", "Issue the oldest lots first (FIFO)");
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

  it("the catalog is brought in step with a file", async () => {
    const erp = "shortID,description,category\nBOLT-M8,Changed,3\nNEW-1,New,3\n";
    const { run, client, sandbox } = await prepare("docs/plan.md", "From a CSV file", { "erp.csv": erp });
    expect(await run()).toEqual(done);
    expect(await client.items.get("BOLT-M8")).toMatchObject({ description: "Changed" });
    expect(await client.items.get("NEW-1")).toMatchObject({ description: "New" });
    expect(await run()).toEqual(done);
    expect([count(sandbox, "PUT", "/Item"), count(sandbox, "POST", "/Item")]).toEqual([1, 1]);
  });

  it("the catalog is brought in step in CI, by a runner that has nothing but the plan", async () => {
    const erp = "shortID,description,category\nBOLT-M8,Changed,3\nNEW-1,New,3\n";
    const outputs = { GITHUB_OUTPUT: "outputs.txt", GITHUB_STEP_SUMMARY: "summary.md" };
    const { run, client, folder } = await prepare(
      "docs/plan.md",
      "Review and apply in CI",
      { "erp.csv": erp },
      outputs,
    );
    const planning = /^(?!npx stocklot apply)/;
    expect(await run(planning)).toEqual(done);
    expect(readFileSync(join(folder, "outputs.txt"), "utf8")).toBe("code=4\n");
    expect(readFileSync(join(folder, "summary.md"), "utf8")).toContain("### create `NEW-1`");
    for (const name of readdirSync(folder)) if (!/^(bin|plan\.json)$/.test(name)) rmSync(join(folder, name));
    expect(await run(/^npx stocklot apply/)).toEqual(done);
    expect(await client.items.get("NEW-1")).toMatchObject({ description: "New" });
    // The next run of the workflow starts on a new machine, without the files of this run.
    rmSync(join(folder, "plan.json"));
    writeFileSync(join(folder, "erp.csv"), erp);
    expect(await run(planning)).toEqual(done);
    expect(readFileSync(join(folder, "outputs.txt"), "utf8")).toBe("code=0\n");
    rmSync(join(folder, "plan.json"));
    writeFileSync(join(folder, "erp.csv"), "shortID\n");
    expect(await run(planning)).toMatchObject({ exitCode: 1 });
  });

  it("a delivery is imported, once, and a wrong line raises an alarm", async () => {
    const lines = "reference,itemID,units,wid,reasonCode\nASN-1/1,BOLT-M8,50,3,1\nASN-1/2,BOLT-M8,20,3,1\n";
    const { messages, variables } = await listenForAlarms();
    const files = { "delivery.csv": lines };
    const { run, sandbox, folder } = await prepare(
      "docs/recipes.md",
      "Import a delivery every night",
      files,
      variables,
    );
    expect(await run()).toEqual(done);
    expect(await run()).toEqual(done);
    expect(count(sandbox, "POST", "/Inventory/Receive")).toBe(2);
    expect(messages).toEqual([]);
    // The next delivery contains the lines again, and one more.
    writeFileSync(join(folder, "delivery.csv"), `${lines}ASN-2/1,NO-SUCH,5,3,1\n`);
    expect(await run()).toEqual(done);
    expect(count(sandbox, "POST", "/Inventory/Receive")).toBe(3);
    expect(messages).toEqual([
      expect.stringContaining("line 4 is rejected"),
      expect.stringContaining("1 entry rejected"),
    ]);
  });

  it("a warehouse is counted", async () => {
    const { run, client, folder } = await prepare("docs/count.md", "Count a warehouse");
    expect(await run(/snapshot/)).toEqual(done);
    const sheet = join(folder, "sheet.csv");
    const before = await client.inventory.getStockLevel("BOLT-M8", { wid: 3 });
    // In one bin, one unit less is counted than was booked. Cells are taken from the end, as a description may contain commas.
    let isCounted = false;
    const rows = readFileSync(sheet, "utf8")
      .split("\r\n")
      .map((row) => {
        const [book, , check] = [Number(row.split(",").at(-3)), ...row.split(",").slice(-2)];
        if (isCounted || !row.includes(",BOLT-M8,") || book < 2) return row;
        isCounted = true;
        return row.replace(`,,${check}`, `,${book - 1},${check}`);
      });
    expect(isCounted).toBe(true);
    writeFileSync(sheet, rows.join("\r\n"));
    const { exitCode, output } = await run(/plan|surplus/);
    expect(exitCode, output).toBe(0);
    expect(comparable(output)).toBe(comparable(recipeOf("docs/count.md", "Count a warehouse", "text").code));
    const after = await client.inventory.getStockLevel("BOLT-M8", { wid: 3 });
    expect((after?.inStock ?? 0) - (before?.inStock ?? 0)).toBeCloseTo(-1, 6);
  });

  it("a mirror that fails sends a message", async () => {
    const { messages, variables } = await listenForAlarms();
    const { run, sandbox } = await prepare("docs/mirror.md", "Every night, with an alarm", {}, variables);
    expect(await run()).toEqual(done);
    expect(messages).toEqual([]);
    sandbox.addFault({ path: "/Item*", fault: 401 });
    expect(await run()).toEqual(done);
    expect(messages).toEqual([expect.stringContaining("401"), expect.stringMatching(/failed/)]);
  });

  it("an Express server stores receipts, which are sent once, and says what is wrong", async () => {
    const port = { PORT: `${await freePort()}` };
    const receipt = { itemID: "BOLT-M8", units: 5, wid: 3, reasonCode: 1 };
    const put = async (address: string, path: string, body: object) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(new URL(path, address), { method: "PUT", headers, body: JSON.stringify(body) });
      return response.status;
    };
    const statuses: number[] = [];
    const visit: Visit = async (address) => {
      for (const [key, input] of [
        ["scan-1", receipt],
        ["scan-1", receipt],
        ["scan-1", { ...receipt, units: 6 }],
        ["scan-2", { ...receipt, units: 0 }],
      ] as const)
        statuses.push(await put(address, `/receipts/${key}`, input));
      statuses.push((await fetch(new URL("/receipts/other", address))).status);
      await vi.waitFor(
        async () => {
          const response = await fetch(new URL("/receipts/scan-1", address));
          expect(await response.json()).toEqual({ key: "scan-1", state: "applied" });
        },
        { timeout: 20_000, interval: 200 },
      );
      return "visited";
    };
    const heading = "Book what scanners report, with Express";
    const { run, sandbox } = await prepare("docs/recipes.md", heading, {}, port, visit);
    const { exitCode, output } = await run();
    expect(exitCode, output).toBe(0);
    expect(statuses).toEqual([202, 202, 409, 400, 404]);
    expect(count(sandbox, "POST", "/Inventory/Receive")).toBe(1);
  });

  it("a worker sends what others add to PostgreSQL, and ends at SIGTERM by itself", async ({ skip }) => {
    const postgres = await findPostgres();
    if (!postgres) return skip("there is no PostgreSQL");
    onTestFinished(() => postgres.close());
    const page = ["docs/recipes.md", "Send from a worker of your own", {}, { DATABASE_URL: postgres.url }] as const;
    const outbox = createOutbox({ store: postgresOutboxStore({ connectionString: postgres.url }) });
    const visit: Visit = async (printed) => {
      await vi.waitFor(async () => expect(await outbox.summary()).toMatchObject({ applied: 1 }), { timeout: 20_000 });
      return printed;
    };
    const { run, sandbox } = await prepare(...page, visit);
    const input = { itemID: "BOLT-M8", units: 5, wid: 3, reasonCode: 1 };
    await outbox.add({ key: "one", operation: "receive", input });
    const { exitCode, output } = await run();
    await outbox.close();
    expect(exitCode, output).toBe(0);
    expect(count(sandbox, "POST", "/Inventory/Receive")).toBe(1);
  });

  it("the commands of PowerShell are those of the shell, and their exit codes are the ones that it compares", async () => {
    const { code } = recipeOf("docs/recipes.md", "Import a delivery every night", "powershell");
    const commands = code.replaceAll(/`\n/g, "").match(/^npx stocklot [^*\n]*/gm) ?? [];
    expect(commands).toHaveLength(2);
    const { env } = await serve();
    const lines = "reference,itemID,units,wid,reasonCode\nASN-1/1,BOLT-M8,50,3,1\n";
    recipes += 1;
    fileNamed(`${recipes}/delivery.csv`, lines);
    const run = shell([...commands, commands[0]].join("\n"), fileNamed(`${recipes}`), env);
    const [first, second] = commands;
    expect(first).toContain("import");
    expect(second).toContain("summary");
    // The third command imports the same lines again.
    expect(await run()).toMatchObject({ exitCode: 3 });
    expect(code).toContain("-notin 0, 3");
  });

  it("a container starts the program itself, as one that it has copied", () => {
    const { code } = recipeOf("docs/recipes.md", "Run it with Docker", "dockerfile");
    const instructions = code.trim().split("\n");
    expect(instructions.map((line) => line.split(" ")[0])).toEqual([
      "FROM",
      "WORKDIR",
      "COPY",
      "RUN",
      "COPY",
      "USER",
      "CMD",
    ]);
    const command: unknown = JSON.parse(/^CMD (.*)$/m.exec(code)?.[1] ?? "");
    expect(command).toEqual(["node", "worker.js"]);
    expect(instructions).toContain("COPY worker.js ./");
  });

  it("a page of Next.js shows stock, and what does not exist", async () => {
    const { code } = recipeOf("docs/recipes.md", "Show stock with Next.js", "tsx");
    const { env, client, sandbox } = await serve();
    // There are no credentials while the module is loaded, as in a build of Next.js.
    const { default: page } = await moduleOf(
      `/** @jsx h */\n${code}\nconst h = (...all: unknown[]) => all.flat();`,
      "tsx",
    );
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    if (typeof page !== "function") throw new Error("the recipe exports no page");
    const shown = (sku: string) => page({ params: Promise.resolve({ sku }) });
    const level = await client.inventory.getStockLevel("BOLT-M8");
    expect(await shown("BOLT%2DM8")).toEqual(["p", null, level?.available, " available"]);
    expect(await shown("NO-SUCH")).toEqual(["p", null, "There is no ", "NO-SUCH", "."]);
    sandbox.addFault({ path: "/Item*", fault: 501 });
    await expect(shown("OTHER")).rejects.toThrow("501");
  });

  it("clients of a Worker share a token, until it is refused", async () => {
    const { default: worker } = await moduleOf(
      recipeOf("docs/recipes.md", "Keep the token of a Cloudflare Worker").code,
    );
    const { env, sandbox } = await serve();
    const stored = new Map<string, string>();
    const TOKENS = {
      get: async (key: string) => stored.get(key) ?? null,
      put: async (key: string, value: string) => void stored.set(key, value),
      delete: async (key: string) => void stored.delete(key),
    };
    const respond = fieldOf(worker, "fetch");
    if (typeof respond !== "function") throw new Error("the recipe exports no Worker");
    const ask = async (sku: string) => {
      const response: Response = await respond(new Request(`https://worker.example/?sku=${sku}`), { ...env, TOKENS });
      return response.status;
    };
    expect([await ask("BOLT-M8"), await ask("NUT-M8"), await ask("NO-SUCH")]).toEqual([200, 200, 404]);
    expect(count(sandbox, "POST", "/Token")).toBe(1);
    sandbox.revokeTokens();
    expect(await ask("BOLT-M8")).toBe(200);
    expect(await ask("NUT-M8")).toBe(200);
    expect(count(sandbox, "POST", "/Token")).toBe(2);
  });
});
