/** Draws Mermaid diagrams as SVG when the site is built. */
import { renderMermaidSVG } from "beautiful-mermaid";
import type { MarkdownRenderer } from "vitepress";

/** Makes a renderer draw each code block of the language `mermaid`. */
export function drawDiagrams(markdown: MarkdownRenderer): void {
  const { fence } = markdown.renderer.rules;
  markdown.renderer.rules.fence = (tokens, index, options, environment, self) => {
    const token = tokens[index];
    if (token?.info.trim() === "mermaid") return `<div class="diagram" tabindex="0" v-pre>${draw(token.content)}</div>`;
    return fence?.(tokens, index, options, environment, self) ?? "";
  };
}

const INVISIBLE = "\u200b";

/**
 * Returns a drawing without its styles, which would load a font from another host. The style sheet of the site has the styles.
 *
 * Arrows without labels would share lines, which cross the boxes between them. So each arrow gets an invisible label. The frame
 * of the label is removed.
 */
const draw = (source: string): string =>
  renderMermaidSVG(source.replaceAll(" --> ", ` -->|${INVISIBLE}| `), {
    bg: "var(--vp-c-bg)",
    fg: "var(--vp-c-text-1)",
    layerSpacing: 20,
    padding: 8,
    transparent: true,
  })
    .replace(/<style>[\s\S]*?<\/style>/g, "")
    .replace(/<g class="edge-label"[^>]*="\u200b">[\s\S]*?<\/g>/g, "");
