/** Makes tables that are wider than the page scrollable, by pointer and by keyboard. */
import type { MarkdownRenderer } from "vitepress";

type Tokens = ReturnType<MarkdownRenderer["parse"]>;

export function makeScrollable(markdown: MarkdownRenderer): void {
  markdown.renderer.rules.table_open = (tokens, index) => {
    return `<div class="table ${kindOf(tokens, index)}" tabindex="0"><table>\n`;
  };
  markdown.renderer.rules.table_close = () => "</table></div>\n";
}

/** The most characters that fit into a table row on a phone. */
const MOST_BESIDE = 44;

/** The most characters of a cell that counts as a mark or a figure. */
const LONGEST_MARK = 6;

/**
 * Decides how a phone shows a table. A table with much text becomes a list: the first cell, then the other cells, each below the
 * name of its column. A matrix of marks or figures scrolls.
 */
function kindOf(tokens: Tokens, open: number): "stacked" | "matrix" | "narrow" {
  const rows: Tokens[] = [];
  let headings: string[] = [];
  for (const [index, token] of [...tokens.entries()].slice(open)) {
    if (token.type === "table_close") break;
    if (token.type === "tr_open") rows.push([]);
    if (/^t[hd]_open$/.test(token.type)) rows.at(-1)?.push(token);
    if (token.type === "inline" && rows.length === 1) headings = [...headings, token.content];
    if (token.type === "inline") tokens[index - 1]?.attrSet("data-length", `${textOf(token.content).length}`);
  }
  const [, ...body] = rows;
  const lengths = headings.map((_, column) =>
    Math.max(...body.map((row) => Number(row[column]?.attrGet("data-length") ?? 0))),
  );
  for (const row of rows)
    for (const [column, cell] of row.entries()) {
      cell.attrs = (cell.attrs ?? []).filter(([name]) => name !== "data-length");
      const heading = textOf(headings[column] ?? "");
      if (column > 0 && headings.length > 2 && heading)
        cell.attrSet("data-column", /\?$/.test(heading) ? heading : `${heading}:`);
      // The style becomes a class, because a style sheet can override a class.
      const align = /text-align:(\w+)/.exec(cell.attrGet("style") ?? "")?.[1];
      cell.attrs = cell.attrs.filter(([name]) => name !== "style");
      if (align) cell.attrJoin("class", align);
    }
  if (lengths.filter((length) => length <= LONGEST_MARK).length > 1) return "matrix";
  return lengths.reduce((sum, length) => sum + length, 0) > MOST_BESIDE ? "stacked" : "narrow";
}

/** Returns the text that a cell shows, without targets of links and HTML. */
const textOf = (content: string) => content.replace(/\]\([^)]*\)|<[^>]*>|[`[*]/g, "");

const LONGEST_NAME = 32;

/** Keeps a name or an option in one line, for example at its hyphens. Longer code may be broken. */
export function keepNamesWhole(markdown: MarkdownRenderer): void {
  const { code_inline: render } = markdown.renderer.rules;
  markdown.renderer.rules.code_inline = (tokens, index, ...rest) => {
    const token = tokens[index];
    if (token && token.content.length <= LONGEST_NAME) token.attrJoin("class", "name");
    return render?.(tokens, index, ...rest) ?? "";
  };
}
