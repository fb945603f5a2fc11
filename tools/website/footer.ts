/** The last line of each page: the licence, and where to report. */
import type { MarkdownRenderer } from "vitepress";

const FOOTER =
  "[MIT licence](/LICENSE) · report [a fault](/github/CONTRIBUTING) or [a vulnerability](/github/SECURITY)";

export function addFooter(markdown: MarkdownRenderer): void {
  const { render } = markdown;
  markdown.render = (source, environment) => {
    const html = render.call(markdown, source, environment);
    // Its own environment: the title and the headings are those of the page.
    const { path, relativePath, cleanUrls } = environment;
    const footer = render.call(markdown, FOOTER, { path, relativePath, cleanUrls });
    return `${html}<footer class="licence">${footer}</footer>`;
  };
}
