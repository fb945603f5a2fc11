import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { guides, ROOT } from "./support/markdown.js";

/** The pages of `docs`, without the page for maintainers. */
const pages = guides().filter(({ path }) => path.startsWith("docs/") && path !== "docs/releasing.md");

/** Counts words. A dash or the edge of a table cell is no word. */
const wordsOf = (text: string) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
const linesOf = (path: string) => readFileSync(join(ROOT, path), "utf8").trimEnd().split("\n").length;

/** The most words of a page that is read as a whole, and of a page in which readers look things up. */
const MAX_WORDS = 1_700;
const MAX_WORDS_LOOKED_UP = 3_300;
const LOOKED_UP = ["docs/reference.md", "docs/operating.md", "docs/command.md"];

/** Pages to which a reader comes for one row or one program. */
const NO_GUIDES = ["docs/README.md", "docs/recipes.md", "docs/reference.md"];

it("the guides are twelve pages, and no page is long", () => {
  expect(pages.filter(({ path }) => !NO_GUIDES.includes(path)).length).toBeLessThanOrEqual(12);
  const words = pages.map(({ path, text }) => ({ path, words: wordsOf(text) }));
  const limitOf = (path: string) => (LOOKED_UP.includes(path) ? MAX_WORDS_LOOKED_UP : MAX_WORDS);
  expect(words.filter((page) => page.words > limitOf(page.path))).toEqual([]);
});

it("the README and CONTRIBUTING.md are short", () => {
  expect(linesOf("README.md")).toBeLessThanOrEqual(120);
  expect(linesOf(".github/CONTRIBUTING.md")).toBeLessThanOrEqual(175);
});

it("a decision takes half a page", () => {
  const decisions = execFileSync("git", ["ls-files", "docs/decisions/0*"], { cwd: ROOT, encoding: "utf8" }).trim();
  const long = decisions.split("\n").filter((path) => wordsOf(readFileSync(join(ROOT, path), "utf8")) > 200);
  expect(long).toEqual([]);
});
