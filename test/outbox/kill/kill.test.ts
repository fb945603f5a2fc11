import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { InventoryClient } from "../../../src/index.js";
import { createOutbox, type OutboxEntry } from "../../../src/outbox/index.js";
import { builtProgram } from "../../support/built-program.js";
import { ownFolder } from "../../support/own-folder.js";
import { findPostgres } from "../../support/postgres-server.js";
import { type Random, seededRandom } from "../../support/random.js";
import { RUN_ALL } from "../../support/runs.js";
import { type StoreSpec, storeAt } from "../support/store-spec.js";
import { itemsUpTo } from "./entries.js";
import { FaultyService } from "./faulty-service.js";
import type { WorkerOptions } from "./worker.js";

/** The number of kills in all cases together. `STOCKLOT_KILLS=500 npx vitest run --mode all test/outbox/kill` sets it. */
const KILLS = Number(process.env.STOCKLOT_KILLS ?? 16);
const SEED = Number(process.env.STOCKLOT_SEED ?? 1);
/** The number of entries that each process adds. Half of them are also added by the previous process, the others by the next. */
const ADDED = 24;
const ADDED_NEW = 12;
/**
 * The most steps after which a process is killed. Steps are: the process has started, has added entries or has ended a run; one
 * of its writes has arrived or was applied.
 */
const MAX_STEPS = 20;
/** The most time from the last step to the kill, in ms. One of these is chosen at random. */
const MAX_DELAYS_MS = [0, 30, 300];
/** Some processes are suspended for up to this time: longer than a lease, but shorter than a lease and `settleMs` together. */
const LONGEST_SUSPENSION_MS = 3_000;
/** The clocks of the processes differ by up to this, as on different machines. */
const LARGEST_SKEW_MS = 48 * 3_600_000;
const MAX_LAST_RUNS = 10;
const TIMES = { settleMs: 2_500, leaseMs: 1_200 };

const postgres = await findPostgres();
const fileNamed = ownFolder();
const program = RUN_ALL ? await builtProgram(new URL("./worker.ts", import.meta.url)) : "";

const CASES = [
  { kind: "sqlite", mark: false, name: "SQLite, without marks" },
  { kind: "sqlite", mark: "remark", name: "SQLite, with marks in remarks" },
  { kind: "postgres", mark: false, name: "PostgreSQL, without marks" },
  { kind: "postgres", mark: "serial", name: "PostgreSQL, with marks as serials" },
] as const;

describe.runIf(RUN_ALL)("processes that are killed, three on one store", () => {
  it.concurrent.for(CASES)("apply each write at most once, and know which: $name", async ({ kind, mark, name }, {
    expect,
    skip,
  }) => {
    skip(kind === "postgres" && !postgres, "there is no PostgreSQL");
    const random = seededRandom(SEED * 100 + CASES.findIndex((each) => each.name === name));
    const kills = Math.ceil(KILLS / CASES.length);
    const service = new FaultyService(random, itemsUpTo(kills * ADDED_NEW + ADDED));
    const address = await service.listen();
    const schema = `kills_${mark || "none"}_${process.pid}`;
    const store: StoreSpec =
      kind === "sqlite" ? { path: fileNamed(`${schema}.db`) } : { connectionString: postgres?.url ?? "", schema };

    const acknowledged = await killOften(service, kills, random, { service: address, store, mark, ...TIMES });
    service.isFaulty = false;
    const client = new InventoryClient({ ...address, rateLimit: false, timeoutMs: 2_000 });
    const outbox = createOutbox({ client, store: storeAt(store), mark, ...TIMES });
    // Several runs, because on a busy machine the requests of a run may exceed their time limits.
    let report = await outbox.run();
    for (let runs = 1; runs < MAX_LAST_RUNS && (report.pending > 0 || (await outbox.summary()).sending > 0); runs += 1)
      report = await outbox.run();
    const entries: OutboxEntry[] = [];
    for await (const entry of outbox.entries()) entries.push(entry);
    await outbox.close();
    await client.close();
    await service.close();

    const log = [...service.effects, ...entries].map((each) => JSON.stringify(each)).join("\n");
    expect(problems(service, entries, mark !== false), log).toEqual([]);
    expect(report.pending).toBe(0);
    expect(service.effects.length).toBeGreaterThan(kills);
    const stored = new Set(entries.map(({ key }) => key));
    expect(acknowledged.filter((key) => !stored.has(key))).toEqual([]);
  });
});

/** Suspends a process, like a machine that sleeps. Others take over its work, then the process continues. */
async function suspend(child: ChildProcess, forMs: number): Promise<void> {
  child.kill("SIGSTOP");
  await sleep(forMs);
  child.kill("SIGCONT");
}

/** Starts processes, up to three at a time, and kills each. Returns the keys that they reported as added. */
async function killOften(
  service: FaultyService,
  kills: number,
  random: Random,
  options: Omit<WorkerOptions, "from" | "to" | "name" | "monotonicAheadMs" | "wallAheadMs">,
): Promise<string[]> {
  const acknowledged: string[] = [];
  const lives = new Map<string, () => void>();
  service.onStep = (sender) => lives.get(sender)?.();
  let started = 0;
  const startAndKill = async () => {
    const from = Math.max(0, started * ADDED_NEW - ADDED + ADDED_NEW);
    const name = `worker-${started}`;
    started += 1;
    const aheadMs = () => random(2 * LARGEST_SKEW_MS) - LARGEST_SKEW_MS;
    const clocks = { monotonicAheadMs: Math.abs(aheadMs()), wallAheadMs: [0, aheadMs(), aheadMs()] };
    const worker: WorkerOptions = { ...options, ...clocks, name, from, to: from + ADDED };
    const child = fork(program, [JSON.stringify(worker)]);
    const killedAfter = 1 + random(MAX_STEPS);
    const suspendedAfter = random(3) === 0 ? 1 + random(MAX_STEPS / 2) : undefined;
    const delayMs = random(MAX_DELAYS_MS[random(MAX_DELAYS_MS.length)] ?? 0);
    let steps = 0;
    const step = () => {
      steps += 1;
      if (steps === suspendedAfter) void suspend(child, random(LONGEST_SUSPENSION_MS));
      if (steps === killedAfter) setTimeout(() => child.kill("SIGKILL"), delayMs);
    };
    lives.set(name, step);
    child.on("message", (message) => {
      acknowledged.push(...(Object(message).added ?? []));
      step();
    });
    const [code, signal] = await once(child, "exit");
    expect({ code, signal }).toEqual({ code: null, signal: "SIGKILL" });
  };
  const startAgainAndAgain = async () => {
    while (started < kills) {
      await startAndKill();
      await sleep(random(random(4) === 0 ? 2_000 : 100));
    }
  };
  await Promise.all([startAgainAndAgain(), startAgainAndAgain(), startAgainAndAgain()]);
  return acknowledged;
}

afterAll(() => postgres?.close());

/** Returns what is wrong with the entries, compared with what the service has applied. */
function problems(service: FaultyService, entries: readonly OutboxEntry[], isMarked: boolean): string[] {
  const found: string[] = [];
  const unsettledItems = new Set<string>();
  for (const { key, operation, state, input, result } of entries) {
    const item = String(Object(input).itemID ?? Object(input).shortID).toLowerCase();
    const effects = service.effects.filter((effect) => effect.key === key);
    if (operation !== "update" && effects.length > 1) found.push(`${key}: applied ${effects.length} times`);
    if (state === "applied" && effects.length === 0) found.push(`${key}: applied, but the service did not apply it`);
    if ((state === "rejected" || state === "pending") && effects.length > 0)
      found.push(`${key}: ${state}, but it was applied`);
    if (state === "sending") found.push(`${key}: still sending`);
    if (state === "unknown" && operation === "update") found.push(`${key}: unknown, though it can be resent`);
    if (state === "unknown" && operation === "receive" && isMarked) found.push(`${key}: unknown, though it has a mark`);
    if (state === "pending" && !unsettledItems.has(item)) found.push(`${key}: pending, and nothing holds it back`);
    if (state === "unknown") unsettledItems.add(item);
    const { recNo } = Object(result);
    if (state === "applied" && operation === "receive" && recNo !== undefined && recNo !== effects[0]?.recNo)
      found.push(`${key}: lot ${recNo}, but the service created ${effects[0]?.recNo}`);
  }
  const order = new Map(entries.map(({ key }, index) => [key, index]));
  const last = new Map<string, number>();
  for (const { key, item } of service.effects) {
    const position = order.get(key) ?? -1;
    if (position < (last.get(item) ?? 0)) found.push(`${key}: applied after a later entry of ${item}`);
    last.set(item, position);
  }
  return found;
}
