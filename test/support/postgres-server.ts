import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Pool, type PoolConfig } from "pg";
import { onTestFinished } from "vitest";
import { canRun, installPackage } from "./debian-package.js";
import { freePort } from "./free-port.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "./runs.js";

/** A PostgreSQL server to test with: one that was already running, or a private one. */
export interface TestPostgres {
  /** The address of a database in which tests may create schemas. */
  readonly url: string;
  /** Stops a private server, and starts it again some time later; `undefined` for one that was already running. */
  restart?: (downMs: number) => Promise<void>;
  /** Stops a private server. */
  close(): Promise<void>;
}

/** The folder in which Debian has a folder for each version of PostgreSQL. */
const DEBIAN_VERSIONS = "/usr/lib/postgresql";

/**
 * Returns the server that `STOCKLOT_TEST_POSTGRES_URL` names. If it is not set, `npm run test:all` starts a private server.
 * PostgreSQL is installed first if that is necessary and needs no password. If there is no server, returns `undefined` and
 * prints why.
 *
 * @throws Error if there is no server and `STOCKLOT_REQUIRE_POSTGRES=1`.
 */
export async function findPostgres(): Promise<TestPostgres | undefined> {
  const url = process.env.STOCKLOT_TEST_POSTGRES_URL;
  if (url) return { url, close: async () => {} };
  if (!RUN_ALL) {
    console.warn(`The tests that start a PostgreSQL server are skipped: ${ONLY_IN_TEST_ALL}.`);
    return undefined;
  }
  const programs = findPrograms() ?? (installPackage("postgresql") ? findPrograms() : undefined);
  if (programs !== undefined) return startServer(programs);
  const message =
    "no PostgreSQL: set STOCKLOT_TEST_POSTGRES_URL, or install postgresql; the tests that need one are skipped";
  if (process.env.STOCKLOT_REQUIRE_POSTGRES === "1") throw new Error(message);
  console.warn(message);
  return undefined;
}

/**
 * Opens a pool that ignores errors of idle connections. `end()` of a pool does not wait until its connections are closed, and a
 * server that stops before then causes such an error.
 */
export function openPool(config: PoolConfig): Pool {
  const pool = new Pool(config);
  pool.on("error", () => {});
  return pool;
}

let databases = 0;

/** Creates a database, which is removed when the test ends. Returns its address. */
export async function newDatabase(postgres: TestPostgres | undefined): Promise<string> {
  const url = postgres?.url ?? "";
  const admin = new Client({ connectionString: url });
  await admin.connect();
  onTestFinished(() => admin.end());
  databases += 1;
  const database = `test_${process.pid}_${databases}`;
  await admin.query(`CREATE DATABASE ${database}`);
  onTestFinished(async () => void (await admin.query(`DROP DATABASE ${database} WITH (FORCE)`)));
  const address = new URL(url);
  address.pathname = `/${database}`;
  return address.href;
}

/** Returns the folder of PostgreSQL's programs, with a trailing slash. The result is empty if they are in the PATH. */
function findPrograms(): string | undefined {
  const versions = existsSync(DEBIAN_VERSIONS)
    ? readdirSync(DEBIAN_VERSIONS).sort((a, b) => Number(b) - Number(a))
    : [];
  const folders = ["", ...versions.map((version) => `${DEBIAN_VERSIONS}/${version}/bin/`)];
  return folders.find((folder) => canRun(`${folder}initdb`) && canRun(`${folder}postgres`));
}

async function startServer(programs: string): Promise<TestPostgres> {
  const directory = mkdtempSync(join(tmpdir(), "stocklot-postgres-"));
  const user = serverUser();
  if (user) chownSync(directory, user.uid, user.gid);
  const data = join(directory, "data");
  const init = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  execFileSync(`${programs}initdb`, init, { stdio: "ignore", cwd: directory, ...user });
  const port = await freePort();
  const settings = { listen_addresses: "127.0.0.1", port, unix_socket_directories: "", fsync: "off" };
  const start = () =>
    spawn(
      `${programs}postgres`,
      ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
      { stdio: "ignore", cwd: directory, ...user },
    );
  let server = start();
  const stop = async () => {
    const exited = new Promise((resolve) => server.once("exit", resolve));
    // Fast shutdown: open connections are closed.
    server.kill("SIGINT");
    await exited;
  };
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await whenReady(url, server);
  return {
    url,
    async restart(downMs) {
      await stop();
      await new Promise((resolve) => setTimeout(resolve, downMs));
      server = start();
    },
    async close() {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Returns the user for the server. PostgreSQL refuses to run as root, and Debian's package creates a user for it. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (option: string) => Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

async function whenReady(url: string, server: ChildProcess): Promise<void> {
  for (;;) {
    const client = new Client(url);
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (server.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
