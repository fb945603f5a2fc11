/** Determines what the search of the site finds. */
import type { MarkdownEnv, MarkdownRenderer } from "vitepress";

/** Pages that are not searched: those about the project, and programs. With them, the index would have half a megabyte. */
const NOT_SEARCHED = /^(CHANGELOG|CONTRIBUTING|github\/|docs\/(decisions|releasing)|examples\/)/;

/** Returns the text by which a page is found: all text of a guide, and the first paragraph of each name of the API reference. */
export function renderForSearch(source: string, environment: MarkdownEnv, markdown: MarkdownRenderer): string {
  const html = markdown.render(source, environment).replace(/<footer[\s\S]*$/, "");
  // Rendering has set these values.
  const { frontmatter, relativePath } = environment;
  if (frontmatter?.search === false || NOT_SEARCHED.test(relativePath)) return "";
  return relativePath.startsWith("api/") ? namesOf(html) : withoutCode(html);
}

/** Removes code. Readers search for words of the text, and names in code also occur in the text. */
const withoutCode = (html: string) =>
  html.replace(/<div class="language-(?!sql|sh)[\s\S]*?<\/pre>[\s\S]*?<\/div>/g, "");

/** Returns classes, functions, types and methods with their first paragraphs, without the methods of errors: all are the same. */
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

/** Makes the search box of VitePress, which mixes the roles of a button, a list box and links, a dialog with links. */
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
