import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { InventoryClient } from "stocklot";
import { createSandbox, type Sandbox, type SandboxOptions } from "stocklot/sandbox";
import { beforeEach, onTestFinished, vi } from "vitest";
import { run as runCommand } from "../../../src/command/program.js";
import { ownFolder } from "../../support/own-folder.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../../support/runs.js";
import { builtCommand } from "./built-command.js";

/** The built command. Only `npm run test:all` starts processes, so it is empty otherwise. */
export const COMMAND_FILE = RUN_ALL ? await builtCommand() : "";

/** Creates a folder for the files of tests that start commands. Skips these tests except in `npm run test:all`. */
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
 * Starts `stocklot` as a process, which is killed when the test ends.
 * @param launcher the words of a program that starts the command, such as a shell with a limit
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

export const runProcess = (...args: Parameters<typeof start>): Promise<Ended> => start(...args).ended;

/** The events to which a command adds listeners. They are restored after a run. */
const EVENTS: readonly (readonly [NodeJS.EventEmitter, string])[] = [
  [process, "SIGINT"],
  [process, "SIGTERM"],
  [process, "SIGHUP"],
  [process, "warning"],
  [process.stdout, "error"],
  [process.stderr, "error"],
];

/** Runs `stocklot` in this process, which takes a tenth of the time of a new process. Only one run at a time is possible. */
export async function run(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const { env: inherited, argv, exitCode } = process;
  const listeners = EVENTS.map(([emitter, event]) => emitter.rawListeners(event));
  const output = { out: "", err: "" };
  const capture = (stream: NodeJS.WriteStream, name: keyof typeof output) =>
    vi.spyOn(stream, "write").mockImplementation((chunk) => {
      output[name] += chunk;
      return true;
    });
  const spies = [capture(process.stdout, "out"), capture(process.stderr, "err")];
  process.env = { PATH: inherited.PATH, ...env };
  process.argv = [...argv.slice(0, 2), ...args];
  process.exitCode = undefined;
  try {
    return { code: await runCommand(args), ...output };
  } finally {
    for (const spy of spies) spy.mockRestore();
    Object.assign(process, { env: inherited, argv, exitCode });
    for (const [index, [emitter, event]] of EVENTS.entries()) {
      emitter.removeAllListeners(event);
      for (const listener of listeners[index] ?? []) emitter.on(event, listener as () => void);
    }
  }
}

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
