import { readFileSync } from "node:fs";
import ts from "typescript";

/** One change of one place of the source. */
export interface Mutant {
  file: string;
  start: number;
  end: number;
  replacement: string;
  /** Names of the functions around the place, the innermost first. */
  names: readonly string[];
  /** The line of the place, without indentation, and the change. They identify the mutant even if other lines change. */
  line: string;
  change: string;
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

/** Returns all mutants of a file. */
export function mutantsOf(file: string): Mutant[] {
  const text = readFileSync(file, "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const add = (node: ts.Node, replacement: string) => {
    const [start, end] = [node.getStart(), node.getEnd()];
    const line = (text.slice(0, start).match(/[^\n]*$/)?.[0] ?? "") + text.slice(start).split("\n", 1);
    const change = `${shorten(text.slice(start, end))} → ${shorten(replacement)}`;
    mutants.push({ file, start, end, replacement, names: functionNames(node), line: line.trim(), change });
  };
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

const shorten = (code: string) => code.replace(/\s+/g, " ").slice(0, 70);

function functionNames(node: ts.Node): string[] {
  const names: string[] = [];
  let inner = node;
  for (let outer = node.parent; outer; inner = outer, outer = outer.parent) {
    // Code in a parameter or a decorator belongs to the function, but the name of the function does not.
    if (!ts.isFunctionLike(outer) || inner === outer.name) continue;
    const name = nameOf(outer);
    if (name !== undefined) names.push(name);
  }
  return names;
}

/** Returns the name that V8 reports for a function. */
function nameOf(node: ts.SignatureDeclaration): string | undefined {
  if (ts.isConstructorDeclaration(node)) return ts.isClassLike(node.parent) ? node.parent.name?.text : undefined;
  if (ts.isGetAccessor(node)) return `get ${node.name.getText()}`;
  if (ts.isSetAccessor(node)) return `set ${node.name.getText()}`;
  if (node.name) return node.name.getText();
  const { parent } = node;
  const isNamed =
    ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent);
  return isNamed ? parent.name.getText() : undefined;
}
