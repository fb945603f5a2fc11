import { z } from "zod";
import { project, run, tool, versionsOf } from "./consumer.js";
import { runWorker } from "./workerd.js";

/** The result of `consumer/runtimes/main-path.mjs`: the number of steps, and the steps that failed. */
export const mainPath = z.object({
  steps: z.number(),
  failed: z.record(z.string(), z.string()),
  transport: z.enum(["undici", "fetch"]),
});

/** A runtime, under its name in docs/operating.md. */
export interface Runtime {
  name: string;
  /** Runs a program of `consumer/runtimes` with one argument, and returns what it printed. */
  run(program: string, argument: object): Promise<string>;
  /** What sends requests on this runtime. */
  transport: "undici" | "fetch";
}

/** Returns a function that runs a program as a process, with this command. */
const processes =
  (command: string, ...flags: string[]): Runtime["run"] =>
  (program, argument) =>
    run(project, command, ...flags, `runtimes/${program}-of-process.mjs`, JSON.stringify(argument));

const workers =
  (...flags: string[]): Runtime["run"] =>
  (program, argument) =>
    runWorker(`runtimes/${program}-of-worker.mjs`, argument, flags);

const deno = tool("node_modules/.bin/deno");

export const runtimes: readonly Runtime[] = [
  ...versionsOf("node").map(
    ({ version, folder }): Runtime => ({
      name: `Node.js ${version}`,
      run: processes(`${folder}/bin/node`, "--disable-warning=ExperimentalWarning"),
      transport: "undici",
    }),
  ),
  { name: "Bun", run: processes(tool("node_modules/.bin/bun")), transport: "fetch" },
  { name: "Deno", run: processes(deno, "run", "--allow-all"), transport: "undici" },
  { name: "Deno, only `--allow-net`", run: processes(deno, "run", "--allow-net"), transport: "fetch" },
  { name: "Workers with `nodejs_compat`", run: workers("nodejs_compat"), transport: "fetch" },
  { name: "Workers", run: workers(), transport: "fetch" },
];
