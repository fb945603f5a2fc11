import ts from "typescript";
import { blocksOf, type MarkdownPage } from "../../test/docs/support/markdown.js";

/** Stands for a character that is not prose. A phrase does not continue across it, unlike across a line break. */
const NOT_PROSE = "\0";
const hide = (text: string) => text.replace(/\S/g, NOT_PROSE);
const blank = (text: string) => text.replace(/\S/g, " ");

const isString = (node: ts.Node) => ts.isStringLiteral(node) || ts.isTemplateLiteralToken(node);

/** The comments and strings of a program, each at its own place. */
export function proseOfSource(source: string): string {
  const file = ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true);
  let prose = "";
  const visit = (node: ts.Node) => {
    const children = node.getChildren(file).filter((child) => !ts.isJSDoc(child));
    if (children.length > 0) return children.forEach(visit);
    const comments = source.slice(node.getFullStart(), node.getStart(file));
    prose += comments.replace(/\/\*+|\*+\/|^[ \t]*\*|\/\//gm, blank);
    prose += isString(node) ? node.getText(file) : hide(node.getText(file));
  };
  visit(file);
  return prose;
}

/** The text of a page without inline code, each word at its own place. Of TypeScript it has the comments and strings. */
export function proseOfPage(page: MarkdownPage): string {
  let prose = page.text;
  for (const { code } of blocksOf(page, "ts")) prose = prose.replace(code, () => proseOfSource(code));
  return prose.replace(/`[^`\n]+`/g, hide);
}
