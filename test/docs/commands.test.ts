import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { allPages, blocksOf, ROOT } from "./support/markdown.js";

const scripts: Record<string, string> = manifest.scripts;
const packages = new Set([
  manifest.name,
  ...Object.keys({ ...manifest.peerDependencies, ...manifest.dependencies, ...manifest.devDependencies }),
]);

/** npm's built-in commands that the pages use. */
const OWN_COMMANDS = new Set(["ci", "test", "init", "pkg", "version", "pack", "publish", "audit"]);

/** The problem with a command of a page, if there is one. */
function problemOf(command: string): string | undefined {
  const [program = "", ...words] = command
    .replace(/(^|\s)#.*$/, "")
    .trim()
    .split(/\s+/)
    .filter((word) => !/^[A-Z][A-Z_]*=/.test(word));
  const [first = "", second = ""] = words.filter((word) => !word.startsWith("-"));
  const path = words.find((word) => /^[\w./-]+\.ts$/.test(word));
  if (path !== undefined && !existsSync(join(ROOT, path))) return `there is no ${path}`;
  switch (program) {
    case "npm":
      if (first === "run") return second in scripts ? undefined : `there is no script ${second}`;
      if (first === "install") return packages.has(second) ? undefined : `${second} is not a dependency`;
      return OWN_COMMANDS.has(first) ? undefined : `unknown command npm ${first}`;
    case "npx":
      return packages.has(first) || first in manifest.bin ? undefined : `${first} is not a dependency`;
    case "mkdir":
    case "cd":
    case "node":
    case "git":
    case "":
      return undefined;
    default:
      return `unknown program ${program}`;
  }
}

const commandsOf = (code: string) => code.replaceAll("\\\n", " ").split(/\n|&&/);

const blocks = allPages().flatMap((page) => blocksOf(page, "sh"));

it("every command on the pages exists", () => {
  expect(blocks.length).toBeGreaterThan(5);
  const problems = blocks.flatMap(({ page, line, code }) =>
    commandsOf(code).flatMap((command) => {
      const problem = problemOf(command);
      return problem ? [`${page}:${line} ${command.trim()}: ${problem}`] : [];
    }),
  );
  expect(problems).toEqual([]);
});
