import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { project, run, tool } from "./consumer.js";

/** Returns the configuration of workerd with one Worker, which consists of these modules. */
const configuration = (main: string, modules: string[], flags: string[]) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [
  (name = "main", worker = (
    modules = [${[main, ...modules].map((file) => `(name = "${file}", esModule = embed "${file}")`).join(", ")}],
    compatibilityDate = "2025-01-01",
    compatibilityFlags = ${JSON.stringify(flags)},
    bindings = [(name = "ARGUMENT", json = embed "argument.json")],
    globalOutbound = "loopback",
  )),
  (name = "loopback", network = (allow = ["private"])),
]);`;

/**
 * Bundles a Worker of the project as wrangler does, runs its test on workerd, and returns what it printed. The bundle is split,
 * so that an import of something that Workers lack fails only when it is executed.
 */
export async function runWorker(program: string, argument: object, flags: string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "stocklot-worker-"));
  const bundle = ["--bundle", "--splitting", "--format=esm", "--conditions=workerd,worker,browser"];
  await run(
    project,
    tool("node_modules/.bin/esbuild"),
    program,
    ...bundle,
    "--external:node:*",
    "--log-level=error",
    `--outdir=${folder}`,
  );
  const main = program.split("/").at(-1)?.replace(".mjs", ".js") ?? "";
  const modules = readdirSync(folder).filter((file) => file !== main);
  writeFileSync(join(folder, "argument.json"), JSON.stringify(argument));
  writeFileSync(join(folder, "worker.capnp"), configuration(main, modules, flags));
  const output = await run(folder, tool("node_modules/.bin/workerd"), "test", "worker.capnp");
  return output.split("\n").find((line) => line.startsWith("{")) ?? output;
}
