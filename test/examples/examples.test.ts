import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSandbox, type Sandbox, type SandboxOptions } from "stocklot/sandbox";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as errors from "../../src/shared/errors/index.js";
import { buildPrograms } from "../support/built-program.js";
import { findPostgres } from "../support/postgres-server.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const EXAMPLES = join(ROOT, "examples");
const SAMPLE = join(EXAMPLES, "receipts.csv");

const postgres = await findPostgres();
let folder: string;
const children = new Set<ChildProcess>();
/** The folder of the built examples, in which they also read and write. They start several times as fast as their sources. */
let built: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stocklot-examples-"));
  built = join(folder, "built");
  if (!RUN_ALL) return;
  const files = await readdir(EXAMPLES);
  const programs = files.filter((name) => name.endsWith(".ts"));
  await buildPrograms(
    programs.map((name) => ({ in: join(EXAMPLES, name), out: basename(name, ".ts") })),
    built,
  );
  for (const name of files) if (name.endsWith(".csv")) await copyFile(join(EXAMPLES, name), join(built, name));
});
// Each example runs as a process, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await postgres?.close();
  await rm(folder, { recursive: true });
});

/** Starts an example without environment variables that name a service. The demo starts from its source, as for a user. */
function start(example: string, args: string[] = [], environment: Record<string, string> = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("STOCKLOT_"));
  const program =
    example === "demo.ts"
      ? ["--import", "tsx", join(EXAMPLES, example)]
      : [join(built, `${basename(example, ".ts")}.mjs`)];
  const child = spawn(process.execPath, [...program, ...args], {
    cwd: ROOT,
    env: { ...Object.fromEntries(inherited), ...environment },
  });
  children.add(child);
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  const ended = once(child, "close").then(([code]) => {
    children.delete(child);
    return { code, out, err };
  });
  return { child, ended };
}

const run = (...args: Parameters<typeof start>) => start(...args).ended;

/** Starts a sandbox on real HTTP, and passes on the environment variables with which an example finds it. */
async function withService<T>(
  options: SandboxOptions,
  use: (sandbox: Sandbox, environment: Record<string, string>) => Promise<T>,
): Promise<T> {
  const sandbox = createSandbox(options);
  const server = await sandbox.listen();
  const { clientId, clientSecret } = sandbox.credentials;
  try {
    return await use(sandbox, {
      STOCKLOT_BASE_URL: server.url,
      STOCKLOT_CLIENT_ID: clientId,
      STOCKLOT_CLIENT_SECRET: clientSecret,
    });
  } finally {
    await server.close();
  }
}

const linesOf = async (file: string) => (await readFile(file, "utf8")).trimEnd().split("\n");

// Not concurrent, because the demo must end within ten seconds.
describe("the demo", () => {
  it("does the main job over HTTP, and prints plain lines if the output is not a terminal", async ({ expect }) => {
    const temporary = await mkdtemp(join(folder, "demo-"));
    const { code, out, err } = await run("demo.ts", [], { TMPDIR: temporary });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/lots {2}100 %, 1,600 of 1,600 in [\d.]+ s/);
    expect(out).toMatch(/received 120 in Central, lot \d+/);
    expect(out).toMatch(/3 applied, 0 unknown, 3 sent: nothing was booked twice/);
    expect(out).toMatch(/second run, after a change of one item: 1 record changed/);
    expect(out).toMatch(/The service counted \d+ requests and rejected none with 429\./);
    expect(Number(/Done in ([\d.]+) s\./.exec(out)?.[1])).toBeLessThan(30);
    expect(out).not.toContain("\u001b");
    expect(out).not.toContain("{");
    expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect((await readdir(temporary)).filter((name) => name.startsWith("stocklot"))).toEqual([]);
  });
});

describe.concurrent("mirror-lots-to-ndjson", () => {
  it("writes each lot once, as one line of JSON", async ({ expect }) => {
    const file = join(folder, "mirror", "lots.ndjson");
    const { code, out, err } = await run("mirror-lots-to-ndjson.ts", [file]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(`Wrote 10,000 lots to ${file}`);
    expect(out).toMatch(/lots 100 %, 10,000 of 10,000/);
    const lots: { recNo: number; spot: string }[] = (await linesOf(file)).map((line) => JSON.parse(line));
    expect(new Set(lots.map(({ recNo }) => recNo)).size).toBe(10_000);
    expect(lots.length).toBe(10_000);
    expect(await readdir(join(folder, "mirror"))).toEqual(["lots.ndjson"]);
  });
});

describe.concurrent("receive-from-csv", () => {
  const items = ["BOLT-M8", "BOLT-M10", "CABLE-3G15", "PAINT-RED"].map((shortID) => ({ shortID }));
  // The outbox sends items in any order. It begins with four items, and the service accepts the first row of each.
  const lost = { path: "/Inventory/Receive", times: 1, fault: "drop-after" } as const;
  const received = (sandbox: Sandbox) => sandbox.requests.filter(({ path }) => path === "/Inventory/Receive");

  it("reports a result for each row of the sample, and finds the receipt whose response was lost", async ({
    expect,
  }) => {
    const { code, out, err } = await run("receive-from-csv.ts");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/receipts 100 %, 7 of 7/);
    expect(out).toMatch(/line +2 +received +lot \d+/);
    expect(out).toMatch(/line +5 +rejected +.*units/);
    expect(out).toMatch(/line +6 +received +lot \d+/);
    expect(out).toMatch(/line +7 +rejected +Item NO-SUCH-SKU does not exist/);
    expect(out).toMatch(/line +8 +rejected +Warehouse is outside/);
    expect(out).toMatch(/line +9 +rejected +.*units/);
    expect(out).toMatch(/5 received, 4 rejected/);
  });

  it("does not resend anything that may have been received", async ({ expect }) => {
    const file = join(folder, "twice.csv");
    await copyFile(SAMPLE, file);
    await withService({ items, faults: [lost] }, async (sandbox, environment) => {
      expect(await run("receive-from-csv.ts", [file], environment)).toMatchObject({ code: 1 });
      const first = received(sandbox).length;
      // The rows are recognised although a new row is above them.
      const [header, ...rows] = await linesOf(file);
      await writeFile(file, [header, "BOLT-M8,7,1,1,,,PO 9,", ...rows, ""].join("\n"));
      const { code, out } = await run("receive-from-csv.ts", [file], environment);

      expect(code).toBe(1);
      expect(out).toMatch(/line +2 +received/);
      expect(out).toMatch(/line +7 +received/);
      expect(out).toMatch(/6 received, 4 rejected/);
      // The second run sends the new row, and again the two rows that only the service can reject.
      const bodies = received(sandbox)
        .slice(first)
        .map(({ body }) => JSON.stringify(body));
      expect(bodies).toHaveLength(3);
      for (const part of ['"units":7', "NO-SUCH-SKU", '"wid":99'])
        expect(bodies.filter((body) => body.includes(part))).toHaveLength(1);
    });
  });

  it("books the sample into no real service", async ({ expect }) => {
    await withService({ items }, async (sandbox, environment) => {
      const { code, err } = await run("receive-from-csv.ts", [], environment);
      expect(code).toBe(1);
      expect(err).toContain("The sample is not for a real service.");
      expect(sandbox.requests).toEqual([]);
    });
  });
});

describe.skipIf(!postgres)("mirror-postgres", () => {
  it("copies until it is interrupted, and ends cleanly", async () => {
    const { child, ended } = start("mirror-postgres.ts", ["0.2"], { DATABASE_URL: postgres?.url ?? "" });
    let runs = 0;
    child.stdout.on("data", (chunk) => {
      runs += String(chunk).match(/^ {2}\d+ requests in /gm)?.length ?? 0;
      if (runs >= 3) child.kill("SIGINT");
    });
    const { code, out, err } = await ended;
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/lots +10,000 +10,000 +10,000/);
  });
});

describe.concurrent("handle-errors", () => {
  it("provokes and handles each class of the tree", async ({ expect }) => {
    const { code, out, err } = await run("handle-errors.ts");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const handled = new Set(out.split("\n").map((line) => line.split(" ")[0]));
    const classes = Object.keys(errors).filter((name) => name !== "StocklotError");
    expect(classes.filter((name) => !handled.has(name))).toEqual([]);
    expect(out.match(/^PermissionError/gm)).toHaveLength(4);
    expect(out).toMatch(/^\(aborted\)/m);
  });
});

it.concurrent.each<[string, RegExp[]]>([
  ["mirror-sqlite", [/lots +10,000 +10,000 +10,000/, /items \d+ changed .*putUp/, /lots +10,001 +1 +1 +0 +0/]],
  ["share-one-limiter", [/mirror: 2,000 lots in /, /service: \d+ requests from one address, 0 refused/]],
  ["sync-catalog", [/\+ BOLT-M9/, /^2 applied in \d+ requests\.$/m]],
  [
    "count-stock",
    [
      /^\+ BOLT-M8 {2}bin A-01 {2}book 470, counted 480 EA: receive 10 into bin A-01$/m,
      /^! WASHER-M8 .*: moved since the snapshot \(of 20\S+Z, warehouse \d+: lot \d+ in bin \S+ had 50, now 40\): count again$/m,
      /^2 groups corrected in \d+ requests\.$/m,
      /\+ 0 receive {2}- 0 issue {2}= 3 unchanged {2}! 0 blocked/,
    ],
  ],
])("%s reports what it has done", async (name, lines) => {
  const { code, out, err } = await run(`${name}.ts`, name === "mirror-sqlite" ? [join(folder, "stock.db")] : []);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  for (const line of lines) expect(out).toMatch(line);
});

const addressIn = ({ stdout }: ChildProcess) =>
  new Promise<string>((resolve) => {
    stdout?.on("data", (chunk) => {
      const [found] = /http:\S+/.exec(String(chunk)) ?? [];
      if (found) resolve(found);
    });
  });

describe.concurrent("stock-endpoint", () => {
  it("returns the stock of a SKU until it is interrupted", async ({ expect }) => {
    const { child, ended } = start("stock-endpoint.ts", ["0"]);
    const url = await addressIn(child);
    const get = async (address: string): Promise<{ status: number; body: Record<string, unknown[]> }> => {
      const response = await fetch(address, { headers: { connection: "close" } });
      return { status: response.status, body: Object(await response.json()) };
    };
    const { status, body } = await get(url);
    expect(status).toBe(200);
    expect(body).toMatchObject({ sku: "BOLT-M8", available: expect.any(Number) });
    expect(body.bins?.length).toBeGreaterThan(0);
    expect(await get(url.replace("BOLT-M8", "NO-SUCH"))).toMatchObject({ status: 404 });
    expect(await get(`${url}&wid=x`)).toMatchObject({ status: 400 });
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 0, err: "" });
  });
});

describe.concurrent("a copy", () => {
  it("is read by an endpoint and by a report, which shows each change once", async ({ expect }) => {
    const { child, ended } = start("copy-endpoint.ts");
    const url = await addressIn(child);
    const response = await fetch(url, { headers: { connection: "close" } });
    expect(await response.json()).toMatchObject({
      bins: expect.arrayContaining([expect.objectContaining({ wID: 1 })]),
    });
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 0, err: "" });
    const path = join(folder, "report.db");
    await copyFile(join(built, "out", "sample.db"), path);
    const { out, err } = await run("copy-changes.ts", [path]);
    expect({ out, err }).toMatchObject({ out: expect.stringMatching(/lots added +1\n/), err: "" });
    expect(out).toContain("discontinued: BOLT-M8");
    expect((await run("copy-changes.ts", [path])).out).not.toContain("lots added");
  });
});
