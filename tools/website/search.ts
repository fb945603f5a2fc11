/** What the search of the site finds. */
import type { MarkdownEnv, MarkdownRenderer } from "vitepress";

/** In the API reference, `Parameters`, `Returns` and `Default` of a name are found with the name. */
export function renderForSearch(source: string, environment: MarkdownEnv, markdown: MarkdownRenderer): string {
  const html = markdown.render(source, environment);
  if (environment.frontmatter?.search === false) return "";
  return environment.relativePath.startsWith("api/") ? html.replace(/<h([46])[^>]*>[\s\S]*?<\/h\1>/g, "") : html;
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
