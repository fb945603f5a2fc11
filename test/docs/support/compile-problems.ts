import { join } from "node:path";
import ts from "typescript";
import { type Given, givenTo } from "./given.js";
import { ROOT } from "./markdown.js";

const DECLARATIONS: Record<Given, string> = {
  client: `declare const client: import("stocklot").InventoryClient;`,
  sandbox: `declare const sandbox: import("stocklot/sandbox").Sandbox;`,
};

/** A program that people copy. */
export interface Program {
  /** Unique, and ends in `.ts`. */
  readonly name: string;
  readonly code: string;
}

/** What the compiler reports about these programs, by the settings of the repository. */
export function compileProblems(programs: readonly Program[]): string[] {
  const code = new Map(
    programs.map(({ name, code }) => [
      join(ROOT, name),
      `${givenTo(code)
        .map((each) => DECLARATIONS[each])
        .join("")}export {};${code}`,
    ]),
  );
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
  return [...code.keys()].flatMap((path) => {
    const file = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      (problem) => `${path.slice(ROOT.length)}: ${ts.flattenDiagnosticMessageText(problem.messageText, "\n")}`,
    );
  });
}
