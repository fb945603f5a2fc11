import { createSandbox, type Sandbox, type SandboxServer } from "stocklot/sandbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findRedis, type TestRedis } from "../redis/support/redis-server.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { type CompanyNetwork, startCompanyNetwork } from "./support/company-network.js";
import { blocksOf, guides } from "./support/markdown.js";
import { buildSnippets, type Runnable } from "./support/run-snippet.js";
import { snippets } from "./support/snippets.js";

/** The addresses that the pages show. They are replaced by the addresses of test servers. */
const SERVICE = "https://inventory.example.com/api/v1";
const REDIS = "redis://127.0.0.1:6379";

/** Snippets that are marked `no-run`, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "docs/mirror.md": "it needs a PostgreSQL database of the reader",
  "docs/outbox.md": "it changes a table of the reader's own PostgreSQL database",
  "docs/recipes.md": "it needs a PostgreSQL database; the tests of the recipes run it with one",
};

const all = snippets();
const marked = all.filter(({ info }) => info.includes("no-run"));
const run = all.filter((snippet) => !marked.includes(snippet));

const sandbox = createSandbox({
  clients: [
    { clientId: "reader", clientSecret: "secret" },
    ...["scanner", "mirror"].map((clientId) => ({ clientId, clientSecret: "…" })),
  ],
  rateLimit: false,
});

const environmentOf = (baseUrl: string, { clientId, clientSecret }: Sandbox["credentials"]) => ({
  STOCKLOT_BASE_URL: baseUrl,
  STOCKLOT_CLIENT_ID: clientId,
  STOCKLOT_CLIENT_SECRET: clientSecret,
});

let server: SandboxServer;
let network: CompanyNetwork;
let redis: TestRedis | undefined;
let programs: Runnable;

beforeAll(async () => {
  if (!RUN_ALL) return;
  const { credentials } = sandbox;
  server = await sandbox.listen();
  network = await startCompanyNetwork(server.url);
  redis = await findRedis();
  programs = await buildSnippets(
    run,
    { [SERVICE]: server.url, ...network.replacements, ...(redis && { [REDIS]: redis.url }) },
    environmentOf(server.url, credentials),
  );
});
afterAll(async () => {
  programs?.remove();
  network?.close();
  await server?.close();
  await redis?.close();
});

describe.concurrent("every snippet of the README and the guides runs, and ends by itself", () => {
  it.for(run.map((snippet) => [snippet.name, snippet] as const))("%s", async ([, snippet], { expect, skip }) => {
    skip(!RUN_ALL, ONLY_IN_TEST_ALL);
    skip(snippet.code.includes(REDIS) && !redis, "there is no Redis");
    const { exitCode, output } = await programs.run(snippet);
    expect(exitCode, output).toBe(0);
  });
});

it("the first program of the README prints what the README shows", async ({ skip }) => {
  skip(!RUN_ALL, ONLY_IN_TEST_ALL);
  const [first] = run.filter(({ page }) => page === "README.md");
  const [shown] = guides().flatMap((page) => (page.path === "README.md" ? blocksOf(page, "text") : []));
  if (!first || !shown) throw new Error("the README has no program or no output");
  // The README starts its sandbox with these numbers.
  const fresh = createSandbox({ items: 20_000, lots: 100_000 });
  const { url, close } = await fresh.listen();
  const built = await buildSnippets([first], {}, environmentOf(url, fresh.credentials));
  expect(await built.run(first)).toEqual({ exitCode: 0, output: shown.code });
  built.remove();
  await close();
});

it("at most three are not run, each for a reason", () => {
  expect(marked.map(({ page }) => page)).toEqual(Object.keys(NOT_RUN));
  expect(marked.length).toBeLessThan(4);
});
