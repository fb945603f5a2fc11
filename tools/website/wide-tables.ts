/** Tables that are wider than the page scroll in themselves, by pointer and by keyboard. */
import type { MarkdownRenderer } from "vitepress";

export function makeScrollable(markdown: MarkdownRenderer): void {
  markdown.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>\n';
  markdown.renderer.rules.table_close = () => "</table></div>\n";
}
