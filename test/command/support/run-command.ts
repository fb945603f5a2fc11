import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createSandbox, type Sandbox, type SandboxOptions } from "stocklot/sandbox";
import { onTestFinished } from "vitest";
import { RUN_ALL } from "../../support/runs.js";
import { builtCommand } from "./built-command.js";

/** Processes run in `npm run test:all` only. */
export const COMMAND_FILE = RUN_ALL ? await builtCommand() : "";

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

/** A sandbox on a port, and the variables that connect a command to it. */
export async function serve(options: SandboxOptions = {}): Promise<{ sandbox: Sandbox; env: Record<string, string> }> {
  const sandbox = createSandbox({ rateLimit: false, ...options });
  const server = await sandbox.listen();
  onTestFinished(() => server.close());
  const { clientId, clientSecret } = sandbox.credentials;
  const env = {
    STOCKLOT_BASE_URL: server.url,
    STOCKLOT_CLIENT_ID: clientId,
    STOCKLOT_CLIENT_SECRET: clientSecret,
  };
  return { sandbox, env };
}
