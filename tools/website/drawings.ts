/** Pictures of guides and charts of the benchmark become part of their page: they have its colours and its width. */
import { basename } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { readDocument } from "./pages.js";

const FOLDERS: Readonly<Record<string, string>> = { charts: "bench/charts", pictures: "docs/pictures" };

export function inlineDrawings(markdown: MarkdownRenderer): void {
  const { image } = markdown.renderer.rules;
  markdown.renderer.rules.image = (tokens, index, options, environment, self) => {
    const source = tokens[index]?.attrGet("src") ?? "";
    const folder = FOLDERS[/(\w+)\/\w+\.svg$/.exec(source)?.[1] ?? ""];
    if (folder) return inlined(readDocument(`${folder}/${basename(source)}`));
    return image?.(tokens, index, options, environment, self) ?? "";
  };
}

/** The styles are in the style sheet of the site. */
const inlined = (svg: string): string =>
  svg
    .replace(/<style>[\s\S]*?<\/style>/, "")
    .replace(/ width="\d+" height="(\d+)"/, svg.includes("viewBox") ? "" : ' width="100%" height="$1"')
    .replace(/\s*\n\s*/g, "");
