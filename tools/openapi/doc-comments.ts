import { readFileSync } from "node:fs";
import ts from "typescript";

/** The doc comments of an interface. */
export interface Comments {
  readonly interface: string;
  /** The comments by field, with those of the interfaces that this interface extends. */
  readonly fields: ReadonlyMap<string, string>;
}

/**
 * Reads the comments of an interface of `src`, so that the description of a field is in one place.
 *
 * @param file relative to `src`; it must also contain the interfaces that this one extends
 */
export function commentsOf(file: string, name: string): Comments {
  const text = readFileSync(new URL(`../../src/${file}`, import.meta.url), "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const declaration = source.statements.find(
    (statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  );
  if (!declaration || !ts.isInterfaceDeclaration(declaration)) throw new Error(`${file} has no interface ${name}.`);

  const fields = new Map<string, string>();
  for (const { expression } of declaration.heritageClauses?.flatMap(({ types }) => types) ?? []) {
    const inherited = commentsOf(file, expression.getText(source));
    for (const [field, comment] of inherited.fields) fields.set(field, comment);
  }
  for (const member of declaration.members) {
    if (member.name) fields.set(member.name.getText(source), commentOn(member));
  }
  return { interface: commentOn(declaration), fields };
}

/** Returns the first paragraph of a comment in one line, without its source and without links to TypeScript names. */
function commentOn(node: ts.Node): string {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const text = ts.getTextOfJSDocComment(comment?.comment) ?? "";
  const [paragraph = ""] = text.split("\n\n");
  return paragraph
    .replace(/\s+/g, " ")
    .replace(/,? see \{@link [^}]*\}/g, "")
    .replace(/ ?Source: .*$/, "")
    .trim();
}
