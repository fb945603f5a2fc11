/** What the search of the site finds. */
import type { MarkdownEnv, MarkdownRenderer } from "vitepress";

/** Pages about the project, and programs, which their guides link to: an index of everything is half a megabyte. */
const NOT_SEARCHED = /^(CHANGELOG|CONTRIBUTING|github\/|docs\/(decisions|releasing)|examples\/)/;

/** Guides are found by all their text, the names of the API reference by their first paragraph. */
export function renderForSearch(source: string, environment: MarkdownEnv, markdown: MarkdownRenderer): string {
  const html = markdown.render(source, environment).replace(/<footer[\s\S]*$/, "");
  // Set while it renders.
  const { frontmatter, relativePath } = environment;
  if (frontmatter?.search === false || NOT_SEARCHED.test(relativePath)) return "";
  return relativePath.startsWith("api/") ? namesOf(html) : withoutCode(html);
}

/** A reader searches for words of the text, or for names that the text has, too. */
const withoutCode = (html: string) =>
  html.replace(/<div class="language-(?!sql|sh)[\s\S]*?<\/pre>[\s\S]*?<\/div>/g, "");

/** Classes, functions and types, and the methods of classes. All errors have the same members. */
function namesOf(html: string): string {
  let name = "";
  return html
    .split(/(?=<h[1-6][ >])/)
    .flatMap((section) => {
      const [heading = "", level = "", title = ""] = /^<h([1-6])[^>]*>([\s\S]*?)<a[\s\S]*?<\/h\1>/.exec(section) ?? [];
      if (level === "3") name = title.trim();
      const isMethod = level > "3" && title.includes("()") && !/Error|\[|toJSON/.test(name + title);
      if (level === "2" || (level > "3" && !isMethod)) return [];
      const [paragraph = ""] =
        /<p>[\s\S]*?<\/p>/.exec(section.slice(heading.length).replace(/<blockquote>[\s\S]*?<\/blockquote>/, "")) ?? [];
      return [heading + paragraph];
    })
    .join("\n");
}

/** The search box of VitePress mixes the roles of a button, a list box and links. Here it is a dialog with links. */
export const searchAsDialog = {
  name: "search-as-dialog",
  enforce: "pre" as const,
  transform(code: string, id: string): string | undefined {
    if (!id.endsWith("VPLocalSearchBox.vue")) return undefined;
    const [script = "", template = ""] = code.split(/(?=^<template>)/m);
    const root = 'ref="el"';
    if (!template.includes(root)) throw new Error("VPLocalSearchBox.vue is no longer as expected");
    const plain = template.replace(/\s:?(?:aria-\w+|role)="[^"]*"/g, "");
    return script + plain.replace(root, `${root} role="dialog" aria-modal="true" aria-labelledby="localsearch-label"`);
  },
};
