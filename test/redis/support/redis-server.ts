import { missingProgramReason, ServerProgram } from "../../connection/support/server-program.js";
import { freePort } from "../../support/free-port.js";

/** A Redis server to test with: one that runs already, or one of our own, which tests may stop and start again. */
export interface TestRedis {
  readonly url: string;
  /** What a test may do to a server of our own, which keeps no data when it is stopped; `undefined` for one that was given. */
  readonly control: RedisControl | undefined;
  /** Stops a server of our own. */
  close(): Promise<void>;
}

export interface RedisControl {
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops responding, as an overloaded or cut-off server does; `SIGCONT` resumes it. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
}

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
  const reason = missingProgramReason("redis-server");
  if (!reason) return startServer();
  console.warn(`The tests that start a Redis server are skipped: ${reason}.`);
  return undefined;
}

/** Starts a server on a free port of the loopback interface. */
export async function startServer(): Promise<TestRedis> {
  const port = await freePort();
  const program = await ServerProgram.start({
    program: "redis-server",
    args: (folder) => ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, "--save", ""],
    files: () => ({}),
    ports: [port],
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    control: {
      start: () => program.start(),
      stop: () => program.stop("SIGKILL"),
      signal: (name) => program.signal(name),
    },
    close: () => program.close(),
  };
}
