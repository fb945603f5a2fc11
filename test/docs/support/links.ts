import { lineAt, type MarkdownPage } from "./markdown.js";

/** A link or an image of a page. */
export interface Link {
  readonly page: string;
  readonly line: number;
  readonly target: string;
}

/** The text without code, which contains neither links nor headings. Line numbers stay the same. */
const prose = (text: string) => text.replace(/^```[\s\S]*?^```$|`[^`\n]+`/gm, (code) => code.replace(/[^\n]/g, "x"));

/** Every link of a page. */
export const linksOf = ({ path, text }: MarkdownPage): Link[] =>
  [...prose(text).matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)/gm)].map(({ index, 1: inline, 2: reference }) => ({
    page: path,
    line: lineAt(text, index),
    target: inline ?? reference ?? "",
  }));

/** The anchors of a page: its headings, converted as repositories and the site do. */
export const anchorsOf = ({ text }: MarkdownPage): string[] => {
  const lines = text.split("\n");
  return prose(text)
    .split("\n")
    .flatMap((line, index) => (/^#{1,6} /.test(line) ? [anchorOf(lines[index] ?? "")] : []));
};

const anchorOf = (heading: string) =>
  heading
    .replace(/^#+ /, "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
