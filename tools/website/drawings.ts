/** Inserts pictures of guides and charts of the benchmark into their pages, so that they have a page's colours and width. */
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

/** Removes the styles, which are in the style sheet of the site. */
const inlined = (svg: string): string =>
  svg
    .replace(/<style>[\s\S]*?<\/style>/, "")
    .replace(/ width="\d+" height="(\d+)"/, svg.includes("viewBox") ? "" : ' width="100%" height="$1"')
    .replace(/\s*\n\s*/g, "");
