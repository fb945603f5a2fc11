import { beforeEach, expect, it, onTestFinished } from "vitest";
import type { FaultServer } from "../support/fault-server.js";
import { type Fault, status } from "../support/faults.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { connect, sleep, startServer, waitUntil } from "../support/with-server.js";
import { buildSnippets } from "./support/run-snippet.js";
import { snippets } from "./support/snippets.js";

const isReceipt = ({ path }: { path: string }) => path === "/Inventory/Receive";

let server: FaultServer;

// The recipes wait as long as a real service may take.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));
beforeEach(async () => {
  server = await startServer();
  await connect(server).items.create({ shortID: "BOLT-M8" });
});

/** Builds the snippet of the guide that contains these words, without changes. */
async function recipe(words: string) {
  const [snippet, ...others] = snippets().filter(({ page, code }) => page === "docs/writes.md" && code.includes(words));
  if (!snippet || others.length > 0) throw new Error(`not one snippet with ${words}`);
  const environment = {
    STOCKLOT_BASE_URL: server.baseUrl,
    STOCKLOT_CLIENT_ID: "scanner",
    STOCKLOT_CLIENT_SECRET: "secret-of-the-scanner",
  };
  const built = await buildSnippets([snippet], {}, environment);
  onTestFinished(built.remove);
  return { start: () => built.start(snippet) };
}

/** Plans the fault for the next receipt. The service applies the receipt `delayMs` after it arrived. */
async function applyLate(fault: Fault, delayMs: number): Promise<void> {
  server.plan(fault, { on: isReceipt });
  await waitUntil(() => server.requests.some((request) => isReceipt(request) && request.body !== ""), 30_000);
  await sleep(delayMs);
  const receipt = server.requests.find(isReceipt);
  if (receipt) server.service.respond(receipt);
}

it("the recipe books once if the gateway responds 504 and the service applies the receipt 5 s later", async () => {
  const { start } = await recipe("findReceipt(error)");
  const late = applyLate(status(504), 5_000);
  const { ended } = start();
  await late;
  expect(await ended).toMatchObject({ exitCode: 0, output: expect.stringMatching(/^applied/) });
  expect(server.effects("receive")).toBe(1);
});
