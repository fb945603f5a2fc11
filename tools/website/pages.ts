/** Writes the documents of the repository as pages of the site. A page has the path of its document. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, extname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { homePage } from "./home.js";
import { replaceTargets } from "./markdown.js";
import { FRONT_PAGE, GUIDES, PROJECT_GROUPS } from "./navigation.js";
import { withTabs } from "./package-managers.js";
import { withProgramTabs } from "./program-tabs.js";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The folder of the pages. The build creates it, and git ignores it. */
export const PAGES = fileURLToPath(new URL("pages", import.meta.url));

/** Files that are not pages, but to which pages link. */
const FILES = ["openapi.json", "LICENSE", "examples/receipts.csv", "examples/catalog.csv"];

const DECISIONS = "docs/decisions";

/** Returns the decisions, beginning with their index. */
export const decisions = (): string[] =>
  readdirSync(join(ROOT, DECISIONS))
    .sort((left, right) => Number(right === "README.md") - Number(left === "README.md") || left.localeCompare(right))
    .map((name) => `${DECISIONS}/${name}`);

/** Returns the programs and queries of the examples. Each gets a page. */
export const programs = (): string[] =>
  readdirSync(join(ROOT, "examples"), { recursive: true, encoding: "utf8" })
    .map((name) => `examples/${name.replaceAll("\\", "/")}`)
    .filter((path) => /\.(ts|sql)$/.test(path) && !path.includes("node_modules"))
    .sort();

/** Returns all documents that are pages. */
export const documents = (): string[] => [...GUIDES, ...PROJECT_GROUPS.flatMap(({ pages }) => pages), ...decisions()];

/** Returns the page of a document or program, without extension and leading dot: VitePress skips hidden folders. */
export const pageOf = (path: string): string =>
  path === FRONT_PAGE
    ? "overview"
    : path
        .replace(/^\./, "")
        .replace(/(^|\/)README\.md$/, "$1index")
        .replace(/\.(md|ts|sql)$/, "");

export const readDocument = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Front matter of programs. They are not in the sidebar, so VitePress would link to the first page of the sidebar. */
const BACK_TO_EXAMPLES = "---\nprev: { text: Examples, link: /examples/ }\nnext: false\n---\n\n";

/** Writes the pages of all documents and programs. */
export function writePages(): void {
  for (const path of documents()) {
    writePage(pageOf(path), withProgramTabs(withTabs(withLinksOfSite(path, readDocument(path)))));
  }
  writePage("index", withLinksOfSite("index.md", homePage(readDocument(FRONT_PAGE))));
  for (const path of programs()) {
    const language = extname(path).slice(1);
    const title = path.slice("examples/".length);
    writePage(pageOf(path), `${BACK_TO_EXAMPLES}# ${title}\n\n\`\`\`${language}\n${readDocument(path)}\`\`\`\n`);
  }
}

/** Adds the files that pages link to, and the documents themselves, which llms.txt lists. */
export function copyFiles(site: string): void {
  const favicon = fileURLToPath(new URL("favicon.svg", import.meta.url));
  cpSync(favicon, join(site, "favicon.svg"));
  for (const path of [...FILES, ...documents(), "llms.txt", "SKILL.md"]) {
    mkdirSync(dirname(join(site, path)), { recursive: true });
    cpSync(join(ROOT, path), join(site, path));
  }
}

function writePage(page: string, markdown: string): void {
  const file = join(PAGES, `${page}.md`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, markdown);
}

const withLinksOfSite = (path: string, markdown: string): string =>
  replaceTargets(markdown, (target) => targetOnSite(path, target));

/** Changes the target of a link between documents to the page. Other targets stay the same. */
function targetOnSite(from: string, target: string): string {
  if (/^([a-z]+:|#)/.test(target)) return target;
  const [path = "", anchor] = target.split("#");
  const linked = posix.join(posix.dirname(from), path);
  if (!documents().includes(linked) && !programs().includes(linked)) return target;
  return `/${pageOf(linked)}${anchor === undefined ? "" : `#${anchor}`}`;
}
