import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { FaultServer } from "../support/fault-server.js";
import { type Fault, hang, status } from "../support/faults.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { connect, sleep, startServer, waitUntil } from "../support/with-server.js";
import { ROOT } from "./support/markdown.js";
import { snippets } from "./support/snippets.js";

const isReceipt = ({ path }: { path: string }) => path === "/Inventory/Receive";

/** A look-up takes a minute, unless it finds the lot earlier. */
const LIMIT_MS = 200_000;

let folder: string;
let server: FaultServer;
const children: ChildProcess[] = [];

// The recipes wait as long as a real service may take.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "stocklot-recipe-"));
  server = await startServer();
  await connect(server).items.create({ shortID: "BOLT-M8" });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the snippet of the guide that contains these words, unchanged. */
function start(words: string) {
  const [snippet, ...others] = snippets().filter(({ page, code }) => page === "docs/writes.md" && code.includes(words));
  if (!snippet || others.length > 0) throw new Error(`not one snippet with ${words}`);
  const file = join(folder, "recipe.mts");
  writeFileSync(file, `${snippet.code}\nexport {};\n`);
  const loader = pathToFileURL(join(ROOT, "node_modules/tsx/dist/loader.mjs")).href;
  const child = spawn(process.execPath, ["--import", loader, file], {
    cwd: folder,
    env: {
      ...process.env,
      TSX_TSCONFIG_PATH: join(ROOT, "tsconfig.json"),
      STOCKLOT_BASE_URL: server.baseUrl,
      STOCKLOT_CLIENT_ID: "scanner",
      STOCKLOT_CLIENT_SECRET: "secret-of-the-scanner",
    },
  });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const ended = new Promise<{ exitCode: number | null; output: string }>((resolve) =>
    child.once("close", (exitCode) => resolve({ exitCode, output })),
  );
  return { child, ended };
}

/** The next receipt meets the fault, and the service applies it a while later. */
async function applyLate(fault: Fault, delayMs: number): Promise<void> {
  server.plan(fault, { on: isReceipt });
  await waitUntil(() => server.requests.some((request) => isReceipt(request) && request.body !== ""), 30_000);
  await sleep(delayMs);
  const receipt = server.requests.find(isReceipt);
  if (receipt) server.service.respond(receipt);
}

it(
  "the recipe books once if the gateway responds 504 and the service applies the receipt 5 s later",
  async () => {
    const late = applyLate(status(504), 5_000);
    const { ended } = start("findReceipt(error)");
    await late;
    expect(await ended).toEqual({ exitCode: 0, output: "" });
    expect(server.effects("receive")).toBe(1);
  },
  LIMIT_MS,
);

it(
  "the recipe for crashes books once if the process is killed while the service works on the receipt",
  async () => {
    const late = applyLate(hang({ applies: false }), 3_000);
    const { child, ended } = start("existsSync(journal)");
    await waitUntil(() => server.requests.some(isReceipt), 30_000);
    child.kill("SIGKILL");
    expect(await ended).toMatchObject({ exitCode: null });
    expect(existsSync(join(folder, "receipt.json"))).toBe(true);
    const again = start("existsSync(journal)");
    await late;
    expect(await again.ended).toEqual({ exitCode: 0, output: "" });
    expect(existsSync(join(folder, "receipt.json"))).toBe(false);
    expect(server.effects("receive")).toBe(1);
  },
  LIMIT_MS,
);
