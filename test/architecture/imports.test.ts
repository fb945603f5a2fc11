import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

const root = new URL("../..", import.meta.url).pathname;
const src = join(root, "src");

/** The imports of each file of `src` within `src`, types included; paths are relative to it. */
const imports: ReadonlyMap<string, readonly string[]> = new Map(
  readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => {
      const { importedFiles } = ts.preProcessFile(readFileSync(join(src, file), "utf8"), true, true);
      const targets = importedFiles
        .filter(({ fileName }) => fileName.startsWith("."))
        .map(({ fileName }) => relative(src, join(src, dirname(file), fileName)).replace(/\.js$/, ".ts"))
        .filter((target) => !target.startsWith(".."));
      return [file, targets];
    }),
);

/** The box of a file in the diagram: its folder, or its own name. */
const boxOfFile = (file: string) => file.split("/")[0]?.replace(/\.ts$/, "") ?? file;

const contributing = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");

/** The arrows of the diagram in CONTRIBUTING.md: what each box may import. */
const diagram: ReadonlyMap<string, readonly string[]> = new Map(
  [...(/```mermaid\n([\s\S]*?)```/.exec(contributing)?.[1] ?? "").matchAll(/^ *(\w+) --> (.+)$/gm)].map(
    ([, from = "", to = ""]) => [from, to.split(" & ")],
  ),
);

/** Everything that is reachable from there. */
function below(start: string, graph: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>();
  const waiting = [...(graph.get(start) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    waiting.push(...(graph.get(next) ?? []));
  }
  return reached;
}

it("imports follow the arrows of the diagram in CONTRIBUTING.md", () => {
  const against = [...imports].flatMap(([file, targets]) => {
    const allowed = below(boxOfFile(file), diagram).add(boxOfFile(file));
    return targets.filter((target) => !allowed.has(boxOfFile(target))).map((target) => `${file} → ${target}`);
  });
  expect(against).toEqual([]);
});

it("the arrows form no cycle", () => {
  expect(diagram.size).toBeGreaterThan(5);
  expect([...diagram.keys()].filter((box) => below(box, diagram).has(box))).toEqual([]);
});

it("each arrow is an import, and each folder is in the diagram", () => {
  const arrows = [...diagram].flatMap(([from, targets]) => targets.map((to) => `${from} → ${to}`));
  const real = new Set(
    [...imports].flatMap(([file, targets]) => targets.map((to) => `${boxOfFile(file)} → ${boxOfFile(to)}`)),
  );
  expect(arrows.filter((arrow) => !real.has(arrow))).toEqual([]);
  const boxes = new Set([...diagram].flat(2));
  expect([...imports.keys()].map(boxOfFile).filter((box) => !boxes.has(box))).toEqual([]);
});

it("each folder is in the table of CONTRIBUTING.md", () => {
  const folders = new Set([...imports.keys()].filter((file) => file.includes("/")).map(boxOfFile));
  expect([...folders].filter((folder) => !contributing.includes(`\`src/${folder}\``))).toEqual([]);
});

it("no file imports itself through others", () => {
  expect([...imports.keys()].filter((file) => below(file, imports).has(file))).toEqual([]);
});
