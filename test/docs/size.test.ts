import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { guides, ROOT } from "./support/markdown.js";

/** Without the README, and without the page for maintainers. */
const pages = guides().filter(({ path }) => path.startsWith("docs/") && path !== "docs/releasing.md");

/** A dash or the edge of a cell is no word. */
const wordsOf = (text: string) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
const linesOf = (path: string) => readFileSync(join(ROOT, path), "utf8").trimEnd().split("\n").length;

it("the guides are twelve pages of 14 000 words", () => {
  expect(pages.length).toBeLessThanOrEqual(12);
  expect(pages.reduce((sum, { text }) => sum + wordsOf(text), 0)).toBeLessThanOrEqual(14_000);
});

it("the README and CONTRIBUTING.md are short", () => {
  expect(linesOf("README.md")).toBeLessThanOrEqual(120);
  expect(linesOf(".github/CONTRIBUTING.md")).toBeLessThanOrEqual(150);
});

it("a decision takes half a page", () => {
  const decisions = execFileSync("git", ["ls-files", "docs/decisions/0*"], { cwd: ROOT, encoding: "utf8" }).trim();
  const long = decisions.split("\n").filter((path) => wordsOf(readFileSync(join(ROOT, path), "utf8")) > 200);
  expect(long).toEqual([]);
});
