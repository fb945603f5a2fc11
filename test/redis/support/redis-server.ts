import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { canRun, installPackage } from "../../support/debian-package.js";
import { freePort } from "../../support/free-port.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../../support/runs.js";

/** A Redis server to test with: one that runs already, or one of our own, which tests may stop and start again. */
export interface TestRedis {
  readonly url: string;
  /** What a test may do to a server of our own; `undefined` for one that was given. */
  readonly control: RedisControl | undefined;
  /** Stops a server of our own. */
  close(): Promise<void>;
}

export interface RedisControl {
  stop(options?: { keepData?: boolean }): Promise<void>;
  start(): Promise<void>;
  /** Stops responding, as an overloaded or cut-off server does; `SIGCONT` resumes it. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
}

const BINARY = "redis-server";

/**
 * The server that `STOCKLOT_TEST_REDIS_URL` names. Otherwise, in `npm run test:all`, `redis-server` from the PATH on a free
 * port, which is installed first if that needs no password. Otherwise `undefined`, and one line on the console says why.
 *
 * @throws Error if there is none and `STOCKLOT_REQUIRE_REDIS=1`.
 */
export async function findRedis(): Promise<TestRedis | undefined> {
  const url = process.env.STOCKLOT_TEST_REDIS_URL;
  return url ? { url, control: undefined, close: async () => {} } : findOwnRedis();
}

/** The same, but always a server of our own: for tests that stop it. */
export async function findOwnRedis(): Promise<TestRedis | undefined> {
  if (!RUN_ALL) {
    console.warn(`The tests that start a Redis server are skipped: ${ONLY_IN_TEST_ALL}.`);
    return undefined;
  }
  if (canRun(BINARY) || (installPackage("redis-server") && canRun(BINARY))) return startServer();
  const message = "no Redis: set STOCKLOT_TEST_REDIS_URL, or install redis-server; the tests that need one are skipped";
  if (process.env.STOCKLOT_REQUIRE_REDIS === "1") throw new Error(message);
  console.warn(message);
  return undefined;
}

/** Starts a server on a free port of the loopback interface. */
export async function startServer(): Promise<TestRedis> {
  const directory = mkdtempSync(join(tmpdir(), "stocklot-redis-"));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let server: ChildProcess | undefined;
  const start = async () => {
    const place = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", directory, "--save", ""];
    server = spawn(BINARY, place, { stdio: "ignore" });
    await withClient(url, (redis) => redis.ping());
  };
  const stop = async ({ keepData = false } = {}) => {
    const stopping = server;
    if (!stopping || stopping.exitCode !== null) return;
    const exited = new Promise((resolve) => stopping.once("exit", resolve));
    if (keepData) await withClient(url, (redis) => redis.save());
    else rmSync(join(directory, "dump.rdb"), { force: true });
    stopping.kill("SIGKILL");
    await exited;
  };
  await start();
  return {
    url,
    control: { start, stop, signal: (name) => void server?.kill(name) },
    close: async () => {
      server?.kill("SIGCONT");
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Waits until the server responds. */
async function withClient(url: string, use: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => 50, maxRetriesPerRequest: 200 });
  redis.on("error", () => {});
  try {
    await use(redis);
  } finally {
    redis.disconnect();
  }
}
