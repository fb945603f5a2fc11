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

/** The problem with a command of a page, if there is one. */
function problemOf(command: string): string | undefined {
  const [, script] = /\bnpm run ([\w:-]+)/.exec(command) ?? [];
  if (script !== undefined && !(script in scripts)) return `there is no script ${script}`;
  const [, name] = /\b(?:npx|npm install) (?:-\S+ )*([\w@/.-]+)/.exec(command) ?? [];
  if (name !== undefined && !packages.has(name)) return `${name} is not a dependency`;
  const [path] = /(?<=\s)[\w./-]+\.ts\b/.exec(command) ?? [];
  if (path !== undefined && !existsSync(join(ROOT, path))) return `there is no ${path}`;
  return undefined;
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
