import { anchorOf, withoutCode } from "../../../tools/website/markdown.js";
import { lineAt, type MarkdownPage } from "./markdown.js";

/** A link or an image of a page. */
export interface Link {
  readonly page: string;
  readonly line: number;
  readonly target: string;
}

/** Every link of a page. */
export const linksOf = ({ path, text }: MarkdownPage): Link[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)/gm)].map(({ index, 1: inline, 2: reference }) => ({
    page: path,
    line: lineAt(text, index),
    target: inline ?? reference ?? "",
  }));

/** The anchors of a page: its headings, converted as repositories and the site do. */
export const anchorsOf = ({ text }: MarkdownPage): string[] => {
  const lines = text.split("\n");
  return withoutCode(text)
    .split("\n")
    .flatMap((line, index) => (/^#{1,6} /.test(line) ? [anchorOf(lines[index] ?? "")] : []));
};
