import { missingProgramReason, ServerProgram } from "../../connection/support/server-program.js";
import { freePort } from "../../support/free-port.js";

/** A Redis server to test with: a server that was already running, or a private one, which tests may stop and start again. */
export interface TestRedis {
  readonly url: string;
  /** Controls a private server, which loses its data when it is stopped. `undefined` for a server that was already running. */
  readonly control: RedisControl | undefined;
  /** Stops a private server. */
  close(): Promise<void>;
}

export interface RedisControl {
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Sends a signal. After `SIGSTOP`, the server does not respond, like an overloaded server; `SIGCONT` resumes it. */
  signal(name: "SIGSTOP" | "SIGCONT"): void;
}

/**
 * Returns the server that `STOCKLOT_TEST_REDIS_URL` names. If it is not set, `npm run test:all` starts a private server. Redis
 * is installed first if that is necessary and needs no password. If there is no server, returns `undefined` and prints why.
 *
 * @throws Error if there is no server and `STOCKLOT_REQUIRE_REDIS=1`.
 */
export async function findRedis(): Promise<TestRedis | undefined> {
  const url = process.env.STOCKLOT_TEST_REDIS_URL;
  return url ? { url, control: undefined, close: async () => {} } : findOwnRedis();
}

/** Starts a private server, for tests that stop it. Returns `undefined` and prints why if Redis is not installed. */
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
