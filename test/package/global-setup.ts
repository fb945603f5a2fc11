import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { z } from "zod";

declare module "vitest" {
  export interface ProvidedContext {
    /** The folder of a project that has installed the packed tarball. */
    project: string;
    tarball: string;
  }
}

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const root = pathOf("../..");
const tools = pathOf("tools");

const npm = (cwd: string, ...args: string[]) =>
  execFileSync("npm", [...args, "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });

/** Packs the last build and installs it as users do, once for all tests. */
export default function setup({ provide }: TestProject): () => void {
  installTools();
  const folder = mkdtempSync(join(tmpdir(), "stocklot-consumer-"));
  const project = join(folder, "project");
  const tarball = pack(folder);
  cpSync(pathOf("consumer"), project, { recursive: true });
  install(project, tarball, ["@types/node", "msw", "@opentelemetry/api"]);
  provide("project", project);
  provide("tarball", tarball);
  // A second project with the database drivers. The first project must work without them.
  const commandProject = join(folder, "command");
  mkdirSync(commandProject);
  install(commandProject, tarball, ["@photostructure/sqlite", "pg"]);
  // test/command/support/built-command.ts reads this variable.
  process.env.STOCKLOT_COMMAND = join(commandProject, "node_modules/stocklot/dist/stocklot.cjs");
  return () => rmSync(folder, { recursive: true, force: true });
}

/** Installs the tarball and peer dependencies, in the versions that the repository uses. */
function install(project: string, tarball: string, peers: readonly string[]): void {
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "consumer", private: true, version: "1.0.0" }));
  const { devDependencies } = z
    .object({ devDependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
  npm(project, "install", tarball, ...peers.map((name) => `${name}@${devDependencies[name]}`));
}

function pack(folder: string): string {
  // --ignore-scripts skips prepack, which would build again.
  const packed: unknown = JSON.parse(npm(root, "pack", "--json", "--ignore-scripts", "--pack-destination", folder));
  const [{ filename }] = z.tuple([z.object({ filename: z.string() })]).parse(packed);
  return join(folder, filename);
}

/** Installs compilers, bundlers, test runners and Node.js versions. Their separate lock file keeps `npm ci` of the root small. */
function installTools(): void {
  const installed = join(tools, "node_modules/.package-lock.json");
  const wanted = join(tools, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs) return;
  console.log("installing the tools that the package is tested with …");
  npm(tools, "ci");
}
