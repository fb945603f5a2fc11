/**
 * Four processes share one limit: each sends as many requests as it can, and together they stay within the limit. The
 * table shows the share of each while they run. One of them is killed; its share goes to the others.
 *
 *     npx tsx examples/cluster/main.ts [seconds]
 *
 * Uses the Redis that `REDIS_URL` names, or starts a `redis-server` and stops it at the end.
 */
import { type ChildProcess, fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createSandbox } from "stocklot/sandbox";
import { number } from "../terminal.js";
import { startRedis } from "./redis.js";
import { drawShares, type WorkerState } from "./shares.js";

const WORKERS = 4;
const LIMIT = { requests: 40, intervalMs: 4_000 };
const seconds = Number(process.argv[2] ?? 20);

const redis = await startRedis();
if (!redis) {
  console.log("This example needs Redis: install redis-server, or set REDIS_URL.");
  process.exit(0);
}

// The service, in this process but over real HTTP. It responds with 429 to requests beyond the limit.
const sandbox = createSandbox({ items: 200, latencyMs: [20, 60], rateLimit: LIMIT });
const server = await sandbox.listen();

const states: WorkerState[] = [];
const children = Array.from({ length: WORKERS }, (_, index) => startWorker(index));
while (states.some(({ note }) => note === "starting")) await sleep(100);
console.log(`${WORKERS} processes, ${LIMIT.requests} requests in ${LIMIT.intervalMs / 1_000} s for all of them.\n`);

const endsAt = performance.now() + seconds * 1_000;
const table = drawShares(states, LIMIT);
let killed = false;
while (performance.now() < endsAt) {
  await sleep(500);
  table.update();
  if (!killed && performance.now() > endsAt - (seconds * 1_000) / 2) {
    killed = true;
    children[1]?.kill("SIGKILL");
    const victim = states[1];
    if (victim) victim.note = "killed";
  }
}
for (const child of children) if (child.connected) child.send("stop");
await Promise.all(children.map(ended));
table.end();

const counted = sandbox.requests.length;
const refused = sandbox.requests.filter(({ status }) => status === 429).length;
const tokens = sandbox.requests.filter(({ path }) => path.endsWith("/Token")).length;
console.log(
  `\nThe service counted ${number(counted)} requests and rejected ${refused}; ${tokens} of them requested a token.`,
);

await server.close();
await redis.close();

function startWorker(index: number): ChildProcess {
  const state: WorkerState = { name: `worker ${index + 1}`, responseTimes: [], waiting: 0, note: "starting" };
  states.push(state);
  const places = { redisUrl: redis?.url, baseUrl: server.url, ...sandbox.credentials, limit: LIMIT };
  const child = fork(fileURLToPath(new URL("./worker.ts", import.meta.url)), [JSON.stringify(places)]);
  child.on("message", ({ responses, waiting }: { responses: number; waiting: number }) => {
    const now = performance.now();
    for (let count = 0; count < responses; count += 1) state.responseTimes.push(now);
    state.waiting = waiting;
    state.note = "";
  });
  return child;
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once("exit", () => resolve()));
}
