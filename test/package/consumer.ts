import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { inject } from "vitest";
import packageJson from "../../package.json" with { type: "json" };

/** A project that has installed the packed tarball, with the programs of `consumer/` in it. */
export const project = inject("project");

/** The entry points that are code: `stocklot`, `stocklot/redis` and so on. */
export const entries = Object.entries(packageJson.exports).flatMap(([entry, target]) =>
  typeof target === "object" ? [entry.replace(/^\./, "stocklot")] : [],
);

/** Returns the path of a file in the folder of the tools, which have a separate lock file. */
export const tool = (path: string) => fileURLToPath(new URL(`tools/${path}`, import.meta.url));

/** Returns the versions of a package that the tools install, with their paths. The name of `node` 22 there is `node-22`. */
export const versionsOf = (name: string) =>
  readdirSync(tool("node_modules"))
    .filter((folder) => folder.startsWith(`${name}-`) && /-\d+(\.\d+)?$/.test(folder))
    .map((folder) => ({ version: folder.slice(name.length + 1), folder: tool(`node_modules/${folder}`) }));

/** Runs a program and returns its output, warnings included. Rejects with the output if it fails. */
export async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  // The variables of this test run are left out, because a nested test runner would read them.
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: "1" };
  const done = promisify(execFile)(command, args, { cwd, env });
  const { stdout, stderr } = await done.catch((failure) => {
    throw new Error(`${command} ${args.join(" ")}\n${failure.stdout}\n${failure.stderr}`);
  });
  return `${stdout}${stderr}`.trim();
}
