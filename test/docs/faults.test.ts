import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { InventoryClient, OutcomeUnknownError } from "../../src/index.js";
import { FAULT_NAMES } from "../../src/sandbox/faults.js";
import { STATUS_BY_ERROR_CODE } from "../../src/sandbox/http/messages.js";
import { createSandbox, type FaultRule } from "../../src/sandbox/index.js";
import { useLoopTime } from "../support/loop-time.js";
import { RULED_STATUSES } from "../support/ruled-statuses.js";
import { ROOT } from "./support/markdown.js";

const PAGE = join(ROOT, "docs/testing.md");
const TABLE = /(<!-- begin: faults -->\n)[\s\S]*?(<!-- end: faults -->)/;

/** The statuses that the service documents, and one for all other errors of the server. */
const DOCUMENTED_STATUSES = [...Object.values(STATUS_BY_ERROR_CODE), 503];

/** The faults of the table, with the value for a fault rule. */
const FAULTS: readonly (readonly [name: string, fault: FaultRule["fault"]])[] = [
  ...[...new Set([...DOCUMENTED_STATUSES, ...RULED_STATUSES])]
    .sort()
    .map((status) => [String(status), status] as const),
  ...FAULT_NAMES.map((name) => [`"${name}"`, name as FaultRule["fault"]] as const),
];

const quick = { minDelayMs: 1, maxDelayMs: 1, rateLimitDelayMs: [1, 1] } as const;

interface Call {
  /** Its path in the sandbox. */
  readonly path: string;
  send(client: InventoryClient): Promise<unknown>;
}

const CALLS: Readonly<Record<"receive" | "update" | "get", Call>> = {
  receive: {
    path: "/Inventory/Receive",
    send: ({ inventory }) => inventory.receive({ itemID: "BOLT-M8", units: 1, wid: 1, reasonCode: 1 }),
  },
  update: { path: "/Item", send: ({ items }) => items.update("BOLT-M8", { description: "Hex bolt" }) },
  get: { path: "/Item", send: ({ items }) => items.get("BOLT-M8") },
};

interface Result {
  readonly mark: string;
  readonly error: string;
  readonly isApplied: boolean;
}

/** Makes a call to which a fault applies `times` times, and returns its result. */
async function play(fault: FaultRule["fault"], { path, send }: Call, times: number): Promise<Result> {
  const sandbox = createSandbox({ items: 1, lots: 1 });
  const { baseUrl, credentials, fetch } = sandbox;
  const client = new InventoryClient({ baseUrl, ...credentials, fetch, timeoutMs: 500, retry: quick });
  sandbox.addFault({ path, fault, times });
  const lots = await client.inventory.listLots().toArray();
  const error: unknown = await send(client).then(
    () => undefined,
    (thrown) => thrown,
  );
  const sent = sandbox.requests.filter((request) => request.path === path).length;
  sandbox.clearFaults();
  const isApplied = (await client.inventory.listLots().toArray()).length > lots.length;
  await client.close();
  const end = error instanceof OutcomeUnknownError ? "?" : error ? "✗" : sent > 1 ? "↻" : "✓";
  return { mark: end, error: error instanceof Error ? `\`${error.name}\`` : "", isApplied };
}

async function row([name, fault]: (typeof FAULTS)[number]): Promise<string[]> {
  const { receive, update, get } = CALLS;
  const [received, updated, read, always] = await Promise.all([
    play(fault, receive, 1),
    play(fault, update, 1),
    play(fault, get, 1),
    play(fault, get, Number.POSITIVE_INFINITY),
  ]);
  // ↻: the retry has succeeded without a fault, so the effect shows nothing about the fault.
  const hasEffect = received.isApplied && received.mark !== "↻";
  return [`\`${name}\``, hasEffect ? "✓" : "", received.mark, updated.mark, read.mark, always.error];
}

it("docs/testing.md shows what the client reports under each fault of the sandbox", async () => {
  useLoopTime();
  const rows = await Promise.all(FAULTS.map(row));
  const head = ["`fault`", "has effect", "`receive`", "`update`", "`get`", "error of `get`, always"];
  const lines = [head, ["---", ":-:", ":-:", ":-:", ":-:", "---"], ...rows];
  const table = lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  const text = readFileSync(PAGE, "utf8");
  const current = text.replace(TABLE, `$1${table}$2`);
  if (process.env.UPDATE_DOCS) writeFileSync(PAGE, current);
  else expect(text, "UPDATE_DOCS=1 npx vitest run test/docs/faults.test.ts").toBe(current);
  expect(current).toContain(table);
});
