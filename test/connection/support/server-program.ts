import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { canRun, installPackage } from "../../support/debian-package.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../../support/runs.js";

/** Servers that the tests start, and their Debian packages. */
const PACKAGES = { nginx: "nginx-light", squid: "squid", tinyproxy: "tinyproxy", "redis-server": "redis-server" };

export type Program = keyof typeof PACKAGES;

/**
 * Returns why the tests of these programs are skipped, or `undefined` if all programs are installed. `npm run test:all` first
 * installs a missing program if that needs no password.
 *
 * @throws Error if a program is missing and `STOCKLOT_REQUIRE_NETWORK=1`; for Redis, if `STOCKLOT_REQUIRE_REDIS=1`.
 */
export function missingProgramReason(...programs: Program[]): string | undefined {
  const requiredBy = programs.includes("redis-server") ? "STOCKLOT_REQUIRE_REDIS" : "STOCKLOT_REQUIRE_NETWORK";
  if (!RUN_ALL) return ONLY_IN_TEST_ALL;
  const missing = programs.filter(
    (program) => !canRun(program, "-v") && !(installPackage(PACKAGES[program]) && canRun(program, "-v")),
  );
  if (missing.length === 0) return undefined;
  const message = `install ${missing.map((program) => PACKAGES[program]).join(", ")}; the tests that need one are skipped`;
  if (process.env[requiredBy] === "1") throw new Error(message);
  console.warn(message);
  return message;
}

/** How to start a program. */
export interface ProgramStart {
  program: Program;
  args: (folder: string) => string[];
  /** Names and contents of the files to write first. */
  files: (folder: string) => Record<string, string>;
  /** The ports that accept connections when the program is ready. */
  ports: readonly number[];
}

/** A server program that runs in the foreground, with its files in a temporary folder. */
export class ServerProgram {
  readonly #start: ProgramStart;
  readonly #folder = mkdtempSync(join(tmpdir(), "stocklot-network-"));
  #child: ChildProcess | undefined;
  #errors = "";

  private constructor(start: ProgramStart) {
    this.#start = start;
    // squid switches to its own user, who must be able to write here.
    chmodSync(this.#folder, 0o777);
    for (const [name, text] of Object.entries(start.files(this.#folder))) writeFileSync(join(this.#folder, name), text);
  }

  static async start(start: ProgramStart): Promise<ServerProgram> {
    const server = new ServerProgram(start);
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    const { program, args, ports } = this.#start;
    const child = spawn(program, args(this.#folder), { stdio: ["ignore", "ignore", "pipe"] });
    child.stderr.on("data", (bytes: Buffer) => (this.#errors += bytes.toString()));
    this.#child = child;
    const deadline = performance.now() + 20_000;
    for (const port of ports) {
      while (!(await acceptsConnections(port))) {
        if (child.exitCode !== null || performance.now() > deadline) {
          const problem = `${program} does not listen on port ${port}: ${this.#errors}${this.log("errors.log")}`;
          await this.close();
          throw new Error(problem);
        }
        await sleep(20);
      }
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** Stops the program, with SIGTERM unless another signal is named. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGCONT");
    child.kill(signal);
    await exited;
  }

  /** Returns the lines that the program has written to a file. */
  log(name: string): string[] {
    const path = join(this.#folder, name);
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
  }

  async close(): Promise<void> {
    await this.stop("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
