/** Mermaid diagrams as SVG, drawn when the site is built. */
import { renderMermaidSVG } from "beautiful-mermaid";
import type { MarkdownRenderer } from "vitepress";

/** Draws each block of the language `mermaid`. */
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
 * The styles are in the style sheet of the site: those of the drawing name a font of another host.
 *
 * Arrows without labels are drawn on shared lines, through the boxes between. So each gets an invisible label, whose frame
 * is removed.
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
