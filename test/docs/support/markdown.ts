import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root folder of the repository. */
export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The most characters per line of code that fit into the column of the site in a window of 1280 pixels. */
export const MOST_CHARACTERS = 84;

/** A page, by its path in the repository. */
export interface MarkdownPage {
  readonly path: string;
  readonly text: string;
}

/** A fenced block of code. */
export interface CodeBlock {
  readonly page: string;
  /** Line of the fence, from 1. */
  readonly line: number;
  /** The text after the fence: the language and options. */
  readonly info: string;
  readonly code: string;
}

const inFolder = (folder: string) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name));

const read = (paths: string[]): MarkdownPage[] =>
  paths.sort().map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

/** README and guides: the pages with code to copy. */
export const guides = (): MarkdownPage[] => read(["README.md", ...inFolder("docs")]);

/** All Markdown pages of the repository. */
export const allPages = (): MarkdownPage[] => {
  const folders = ["docs", "docs/decisions", "examples", "bench", ".github"];
  const pages = [...inFolder(""), ...folders.flatMap(inFolder)];
  return read(pages.filter((path) => !path.endsWith("TEMPLATE.md")));
};

/** The blocks of a page in one of these languages, in order. */
export function blocksOf({ path, text }: MarkdownPage, ...languages: string[]): CodeBlock[] {
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)]
    .map(({ index, 1: info = "", 2: code = "" }) => ({ page: path, line: lineAt(text, index), info, code }))
    .filter(({ info }) => languages.includes(info.split(" ")[0] ?? ""));
}

export const lineAt = (text: string, index: number) => text.slice(0, index).split("\n").length;

/** Replaces what differs from run to run: times, and the width of their columns. */
export const comparable = (text: string) =>
  text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replace(/\b[\d.]+ (ms|s)\b/g, "DURATION")
    .replace(/(durationMs:|median|slowest) [\d.]+/g, "$1")
    .replace(/127\.0\.0\.1:\d+/g, "ADDRESS")
    .replace(/[ \t]+/g, " ")
    .trim();
