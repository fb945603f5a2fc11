import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { InventoryClient } from "stocklot";
import { createSandbox, type Sandbox, type SandboxOptions } from "stocklot/sandbox";
import { beforeEach, onTestFinished } from "vitest";
import { ownFolder } from "../../support/own-folder.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../../support/runs.js";
import { builtCommand } from "./built-command.js";

/** Processes run in `npm run test:all` only. */
export const COMMAND_FILE = RUN_ALL ? await builtCommand() : "";

/** The files of tests that start commands: each is a process, which takes a second, so they run in `npm run test:all` only. */
export function commandFiles(): ReturnType<typeof ownFolder> {
  beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));
  return ownFolder();
}

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

export interface RunningCommand {
  child: ChildProcessWithoutNullStreams;
  /** Grows while the command runs. */
  output: { out: string; err: string };
  ended: Promise<Ended>;
}

/**
 * Starts `stocklot` as a process; it is killed when the test ends.
 * @param launcher the words of a command that starts the command which follows them
 */
export function start(
  args: readonly string[],
  env: Record<string, string> = {},
  cwd?: string,
  launcher: readonly string[] = [],
): RunningCommand {
  const { PATH = "" } = process.env;
  const [program = "", ...words] = [...launcher, process.execPath, COMMAND_FILE, ...args];
  const child = spawn(program, words, {
    cwd,
    env: { PATH, NODE_NO_WARNINGS: "1", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    output.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.err += chunk;
  });
  child.stdin.end();
  return { child, output, ended: once(child, "close").then(([code]) => ({ code, ...output })) };
}

export const run = (...args: Parameters<typeof start>): Promise<Ended> => start(...args).ended;

/** A sandbox on a port, a client of it, and the variables that connect a command to it. */
export async function serve(options: SandboxOptions = {}) {
  const sandbox = createSandbox({ rateLimit: false, ...options });
  const server = await sandbox.listen();
  onTestFinished(() => server.close());
  const { baseUrl, credentials, fetch } = sandbox;
  const client = new InventoryClient({ baseUrl, ...credentials, fetch, rateLimit: false });
  const env: Record<string, string> = {
    STOCKLOT_BASE_URL: server.url,
    STOCKLOT_CLIENT_ID: credentials.clientId,
    STOCKLOT_CLIENT_SECRET: credentials.clientSecret,
  };
  return { sandbox, client, env };
}

/** The receipts that a sandbox has booked, as they were sent. */
export const receiptsIn = ({ requests }: Sandbox): Record<string, unknown>[] =>
  requests.flatMap(({ path, status, body }) => (path === "/Inventory/Receive" && status === 201 ? Object(body) : []));
