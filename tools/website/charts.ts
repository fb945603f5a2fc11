/** The charts of the benchmark become part of their page: they fill its column, in its colours. */
import { basename } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { readDocument } from "./pages.js";

export function inlineCharts(markdown: MarkdownRenderer): void {
  const { image } = markdown.renderer.rules;
  markdown.renderer.rules.image = (tokens, index, options, environment, self) => {
    const source = tokens[index]?.attrGet("src") ?? "";
    if (/bench\/charts\/\w+\.svg$/.test(source)) return inlined(readDocument(`bench/charts/${basename(source)}`));
    return image?.(tokens, index, options, environment, self) ?? "";
  };
}

/** The styles are in the style sheet of the site. */
const inlined = (svg: string): string =>
  svg
    .replace(/<style>[\s\S]*?<\/style>/, "")
    .replace(/ width="\d+"/, ' width="100%"')
    .replace(/\s*\n\s*/g, "");
