/**
 * Changes one place of the source at a time, at random, and runs the tests of its folder: a change that no test notices is a hole.
 * It changes files of the working tree, and restores each one.
 *
 * npm run mutation -- src/outbox src/storage --count 20 --seed 1
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import ts from "typescript";
import { createRandom } from "../test/support/random.js";

/** The tests that concern a folder, if not those in the folder of the same name. */
const TESTS: Readonly<Record<string, readonly string[]>> = {
  "src/auth": ["test/unit", "test/http", "test/redis"],
  "src/core": ["test/unit", "test/http"],
  "src/errors": ["test/unit", "test/http"],
  "src/limiter": ["test/unit/limiter", "test/http"],
  "src/paging": ["test/unit/paging", "test/search", "test/http"],
  "src/storage": ["test/storage", "test/outbox/stores", "test/mirror/sinks"],
};

/** A run of tests that takes longer has been stopped by the mutant. */
const TIMEOUT_S = 240;
/** The exit code of `timeout` if it has ended the command. */
const HUNG_STATUS = 124;

interface Mutant {
  file: string;
  start: number;
  end: number;
  replacement: string;
}

const OPERATORS: Readonly<Record<string, string>> = {
  "&&": "||",
  "||": "&&",
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
};

function mutantsOf(file: string): Mutant[] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const add = (node: ts.Node, replacement: string) =>
    mutants.push({ file, start: node.getStart(), end: node.getEnd(), replacement });
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      const other = OPERATORS[node.operatorToken.getText()];
      const isText = [node.left, node.right].some(
        (side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side),
      );
      if (other !== undefined && !isText) add(node.operatorToken, other);
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      add(node, node.operand.getText());
    } else if (ts.isExpressionStatement(node) && !ts.isStringLiteralLike(node.expression)) {
      add(node, ";");
    } else if (ts.isReturnStatement(node) && node.expression === undefined) {
      add(node, ";");
    } else if (ts.isConditionalExpression(node)) {
      add(node.condition, `!(${node.condition.getText()})`);
    } else if (ts.isIfStatement(node)) {
      add(node.expression, `!(${node.expression.getText()})`);
    } else if (node.kind === ts.SyntaxKind.TrueKeyword && !ts.isLiteralTypeNode(node.parent)) add(node, "false");
    else if (node.kind === ts.SyntaxKind.FalseKeyword && !ts.isLiteralTypeNode(node.parent)) add(node, "true");
    ts.forEachChild(node, visit);
  };
  visit(source);
  return mutants;
}

type Result = "killed" | "hung" | "survived";

function run(mutant: Mutant, tests: readonly string[]): Result {
  const original = readFileSync(mutant.file, "utf8");
  try {
    writeFileSync(mutant.file, original.slice(0, mutant.start) + mutant.replacement + original.slice(mutant.end));
    // `timeout` also ends the workers, which a mutant may keep busy forever.
    const command = ["-k", "5", String(TIMEOUT_S), "npx", "vitest", "run", ...tests, "--mode", "quick", "--bail", "1"];
    const { status } = spawnSync("timeout", command, { stdio: "ignore" });
    if (status === HUNG_STATUS) return "hung";
    return status === 0 ? "survived" : "killed";
  } finally {
    writeFileSync(mutant.file, original);
  }
}

function describe({ file, start, end, replacement }: Mutant): string {
  const text = readFileSync(file, "utf8");
  const line = text.slice(0, start).split("\n").length;
  const shorten = (code: string) => code.replace(/\s+/g, " ").slice(0, 70);
  return `${file}:${line}: ${shorten(text.slice(start, end))} → ${shorten(replacement)}`;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: "string", default: "20" }, seed: { type: "string", default: "1" } },
});
const random = createRandom(Number(values.seed));
const all = positionals.flatMap((folder) => {
  const tests = Object.entries(TESTS).find(([name]) => folder.startsWith(name))?.[1] ?? [
    folder.replace(/^src/, "test").split("/", 2).join("/"),
  ];
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return files.flatMap((name) => mutantsOf(join(folder, name)).map((mutant) => ({ mutant, tests })));
});
const counts: Record<Result, number> = { killed: 0, hung: 0, survived: 0 };
console.log(`${all.length} places, ${values.count} of them at random (seed ${values.seed})`);
for (let done = 0; done < Number(values.count); done += 1) {
  const drawn = all[Math.floor(random() * all.length)];
  if (!drawn) break;
  const result = run(drawn.mutant, drawn.tests);
  counts[result] += 1;
  if (result !== "killed") console.log(`${result}: ${describe(drawn.mutant)}`);
}
console.log(counts);
