import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { ROOT } from "./support/markdown.js";
import { type Given, snippets } from "./support/snippets.js";

const DECLARATIONS: Record<Given, string> = {
  client: `declare const client: import("stocklot").InventoryClient;`,
  sandbox: `declare const sandbox: import("stocklot/sandbox").Sandbox;`,
};

it("every snippet of the README and the guides compiles", () => {
  const code = new Map(
    snippets().map(({ name, given, code }) => [
      join(ROOT, name),
      `${given.map((each) => DECLARATIONS[each]).join("")}export {};${code}`,
    ]),
  );
  expect(code.size).toBeGreaterThan(5);
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT);
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
      (problem) => `${path.slice(ROOT.length)}: ${ts.flattenDiagnosticMessageText(problem.messageText, "\n")}`,
    );
  });
  expect(problems).toEqual([]);
});
