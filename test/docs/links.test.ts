import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";
import { documents } from "../../tools/website/pages.js";
import { anchorsOf, type Link, linksOf } from "./support/links.js";
import { allPages, ROOT } from "./support/markdown.js";

const pages = [...allPages(), { path: "llms.txt", text: readFileSync(join(ROOT, "llms.txt"), "utf8") }];
const links = pages.flatMap(linksOf);
const isExternal = ({ target }: Link) => /^[a-z]+:/.test(target);

/** The problem with a link within the repository, if there is one. */
function problemOf({ page, target }: Link): string | undefined {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(ROOT, file))) return "no such file";
  if (anchor === undefined) return undefined;
  const linked = pages.find((each) => each.path === file);
  return linked && anchorsOf(linked).includes(anchor) ? undefined : "no such heading";
}

it("every link within the repository leads somewhere", () => {
  const inner = links.filter((link) => !isExternal(link));
  expect(inner.length).toBeGreaterThan(20);
  const broken = inner.flatMap((link) => {
    const problem = problemOf(link);
    return problem ? [`${link.page}:${link.line} ${link.target}: ${problem}`] : [];
  });
  expect(broken).toEqual([]);
});

it("every file of the repository that a page names exists", () => {
  const named = allPages().flatMap(({ path: page, text }) =>
    // A pattern, such as `test/**`, names no file.
    [...text.matchAll(/`((?:src|test|tools|bench|docs)\/[^`\s*…]+)`/g)].map(([, path = ""]) => ({ page, path })),
  );
  expect(named.length).toBeGreaterThan(100);
  // Tests are named without the end of the file's name.
  const exists = (path: string) => [path, `${path}.test.ts`].some((file) => existsSync(join(ROOT, file)));
  expect(named.filter(({ path }) => !exists(path))).toEqual([]);
});

it("links to other hosts are encrypted", () => {
  expect(links.filter((link) => isExternal(link) && !link.target.startsWith("https://"))).toEqual([]);
});

it("every document is among the pages of the site", () => {
  const shown = documents();
  const missing = allPages()
    .map(({ path }) => path)
    // SKILL.md is for coding agents, and is generated from the guides.
    .filter((path) => path !== "SKILL.md" && !shown.includes(path));
  expect(missing).toEqual([]);
});
