import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { beforeAll, describe, expect, it } from "vitest";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { compileProblems, type Program } from "./support/compile-problems.js";
import { ROOT } from "./support/markdown.js";
import { snippets } from "./support/snippets.js";

/** The `@example`s of doc comments. */
function examplesIn(path: string): Program[] {
  const source = ts.createSourceFile(path, ts.sys.readFile(path) ?? "", ts.ScriptTarget.Latest, true);
  const examples: Program[] = [];
  const visit = (node: ts.Node) => {
    const of =
      ts.isFunctionLike(node) || ts.isClassLike(node) || ts.isInterfaceDeclaration(node) ? node.name : undefined;
    for (const tag of of ? ts.getJSDocTags(node) : []) {
      if (tag.tagName.text !== "example" || tag.parent.parent !== node) continue;
      const code = ts.getTextOfJSDocComment(tag.comment) ?? "";
      examples.push({ name: `${relative(ROOT, path)} ${of?.getText()} ${examples.length}.ts`, code });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return examples;
}

const wrong = "client.items.get(5);";
describe.skipIf(!RUN_ALL)(`examples and snippets (${ONLY_IN_TEST_ALL})`, () => {
  /** Compiled together, since most of the time goes into what all of them import. */
  let problems: string[] = [];
  beforeAll(() => {
    const examples = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .flatMap((path) => examplesIn(join(ROOT, "src", path)));
    problems = compileProblems([...examples, ...snippets(), { name: "wrong.ts", code: wrong }]);
  });
  const isWrong = (problem: string) => problem.startsWith("wrong.ts");

  it("every example of a doc comment and every snippet of the README and the guides compiles", () => {
    expect(snippets().length).toBeGreaterThan(5);
    expect(problems.filter((problem) => !isWrong(problem))).toEqual([]);
  });

  it("an example that does not compile is found", () => {
    expect(problems.filter(isWrong)).toEqual([expect.stringContaining("'number' is not assignable")]);
  });
});
