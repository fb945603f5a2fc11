import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

const root = new URL("../..", import.meta.url).pathname;
const pages = ["README.md", ...readdirSync(join(root, "docs")).map((name) => join("docs", name))].filter((page) =>
  page.endsWith(".md"),
);

/** What a snippet may use without having made it. */
const GIVEN: Record<string, string> = {
  client: `declare const client: import("stocklot").InventoryClient;`,
  sandbox: `declare const sandbox: import("stocklot/sandbox").Sandbox;`,
};

function snippets(): Map<string, string> {
  const found = new Map<string, string>();
  for (const page of pages) {
    const text = readFileSync(join(root, page), "utf8");
    for (const [count, match] of [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)].entries()) {
      const code = match[1] ?? "";
      const given = Object.entries(GIVEN)
        .filter(
          ([name]) => new RegExp(`\\b${name}\\b`).test(code) && !new RegExp(`\\b(const|let) ${name}\\b`).test(code),
        )
        .map(([, declaration]) => declaration);
      found.set(join(root, `${page} snippet ${count + 1}.ts`), `${given.join("")}export {};${code}`);
    }
  }
  return found;
}

it("every snippet of the README and the guides compiles", () => {
  const code = snippets();
  expect(code.size).toBeGreaterThan(5);
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => code.has(path) || fileExists(path);
  host.readFile = (path) => code.get(path) ?? readFile(path);
  host.getSourceFile = (path, target, ...rest) => {
    const text = code.get(path);
    return text === undefined ? getSourceFile(path, target, ...rest) : ts.createSourceFile(path, text, target);
  };
  const program = ts.createProgram([...code.keys()], { ...options, noUnusedLocals: false }, host);
  const problems = [...code.keys()].flatMap((path) => {
    const file = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      (problem) => `${path.slice(root.length)}: ${ts.flattenDiagnosticMessageText(problem.messageText, "\n")}`,
    );
  });
  expect(problems).toEqual([]);
});
