import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { beforeAll, describe, expect, it } from "vitest";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { compileProblems, type Program } from "./support/compile-problems.js";
import { ROOT } from "./support/markdown.js";
import { snippets } from "./support/snippets.js";

/** An `@example` of a doc comment. */
interface Example extends Program {
  /** The name that the comment documents. */
  readonly of: string;
}

function examplesIn(path: string): Example[] {
  const source = ts.createSourceFile(path, ts.sys.readFile(path) ?? "", ts.ScriptTarget.Latest, true);
  const examples: Example[] = [];
  const visit = (node: ts.Node) => {
    const of =
      ts.isFunctionLike(node) || ts.isClassLike(node) || ts.isInterfaceDeclaration(node) ? node.name : undefined;
    for (const tag of of ? ts.getJSDocTags(node) : []) {
      if (tag.tagName.text !== "example" || tag.parent.parent !== node) continue;
      const code = ts.getTextOfJSDocComment(tag.comment) ?? "";
      const name = `${relative(ROOT, path)} ${of?.getText()} ${examples.length}.ts`;
      examples.push({ name, of: of?.getText() ?? "", code });
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
  let examples: Example[] = [];
  beforeAll(() => {
    examples = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .flatMap((path) => examplesIn(join(ROOT, "src", path)));
    problems = compileProblems([...examples, ...snippets(), { name: "wrong.ts", code: wrong }]);
  });
  const isWrong = (problem: string) => problem.startsWith("wrong.ts");

  it("every example of a doc comment and every snippet of the README and the guides compiles", () => {
    expect(snippets().length).toBeGreaterThan(5);
    expect(problems.filter((problem) => !isWrong(problem))).toEqual([]);
  });

  it("there is an example where people look", () => {
    expect(examples.map((example) => example.of)).toEqual(
      expect.arrayContaining([
        "InventoryClient",
        "request",
        "paginate",
        "list",
        "get",
        "create",
        "update",
        "findCreated",
        "listLots",
        "listStockLevels",
        "receive",
        "findReceipt",
        "move",
        "issue",
        "createRateLimiter",
        "createRedisRateLimiter",
        "createRedisTokenStore",
        "createBottleneckRateLimiter",
        "createMirror",
        "watch",
        "createSandbox",
        "sandboxHandlers",
        "parseServiceDate",
      ]),
    );
  });

  it("an example that does not compile is found", () => {
    expect(problems.filter(isWrong)).toEqual([expect.stringContaining("'number' is not assignable")]);
  });
});
