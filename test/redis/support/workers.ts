import { type ChildProcess, fork } from "node:child_process";
import type { RateLimitOptions } from "stocklot";
import { builtProgram } from "../../support/built-program.js";

export interface WorkerOptions {
  name: string;
  redisUrl: string;
  baseUrl: string;
  key: string;
  rateLimit: RateLimitOptions;
  /** The number of calls at the same time. */
  callers: number;
  /** How far the wall clock of the worker is ahead, in ms. */
  skewMs: number;
  /** How long the worker stands still once, between the grant of a slot and the sending of its request, in ms. */
  standsStillMs: number;
}

export interface WorkerReport {
  responses: number;
  /** The number of failed calls, by the name of the error. */
  failures: Record<string, number>;
  /** For how long the machine did not let the worker run, in ms. */
  stoodStillMs: number;
  exitCode: number | null;
}

const program = await builtProgram(new URL("./worker.ts", import.meta.url));

/** A worker process, as the test sees it. */
export class Worker {
  readonly ready: Promise<void>;
  readonly #process: ChildProcess;
  readonly #exited: Promise<number | null>;
  #report: WorkerReport | undefined;

  constructor(readonly options: WorkerOptions) {
    this.#process = fork(program, [JSON.stringify(options)], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#exited = new Promise((resolve) => this.#process.once("exit", resolve));
    this.ready = new Promise((resolve, reject) => {
      this.#process.once("exit", () => reject(new Error(`${options.name} ended before it was ready`)));
      this.#process.on("message", (message) => {
        if (message === "ready") resolve();
        else this.#report = message as WorkerReport;
      });
    });
  }

  get name(): string {
    return this.options.name;
  }

  signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    this.#process.kill(name);
  }

  /** Lets the process end by itself, and returns its report. A killed process has no report. */
  async stop(): Promise<WorkerReport | undefined> {
    if (this.#process.connected) this.#process.send("stop");
    const exitCode = await this.#exited;
    return this.#report && { ...this.#report, exitCode };
  }
}

/** Starts workers together, and waits until all of them are at work. */
export async function startWorkers(
  count: number,
  places: Pick<WorkerOptions, "redisUrl" | "baseUrl" | "key" | "rateLimit">,
  own: (index: number) => Partial<WorkerOptions> = () => ({}),
): Promise<Worker[]> {
  const usual = { callers: 20, skewMs: 0, standsStillMs: 0 };
  const workers = Array.from(
    { length: count },
    (_, index) => new Worker({ ...usual, ...places, ...own(index), name: `worker ${index + 1}` }),
  );
  await Promise.all(workers.map(({ ready }) => ready));
  return workers;
}
