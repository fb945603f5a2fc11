/** Tables that are wider than the page scroll in themselves, by pointer and by keyboard. */
import type { MarkdownRenderer } from "vitepress";

/** The first column of tables that are lists of definitions on a phone: one above the other. */
const DEFINED = /^(option|class|method|name|Parameter|Property)$/;

export function makeScrollable(markdown: MarkdownRenderer): void {
  markdown.renderer.rules.table_open = (tokens, index) => {
    const first = tokens.slice(index).find(({ type }) => type === "inline")?.content ?? "";
    return `<div class="table${DEFINED.test(first) ? " definitions" : ""}" tabindex="0"><table>\n`;
  };
  markdown.renderer.rules.table_close = () => "</table></div>\n";
}

const LONGEST_NAME = 32;

/** A name or an option is never broken, such as at its hyphens. Longer code is. */
export function keepNamesWhole(markdown: MarkdownRenderer): void {
  const { code_inline: render } = markdown.renderer.rules;
  markdown.renderer.rules.code_inline = (tokens, index, ...rest) => {
    const token = tokens[index];
    if (token && token.content.length <= LONGEST_NAME) token.attrJoin("class", "name");
    return render?.(tokens, index, ...rest) ?? "";
  };
}
