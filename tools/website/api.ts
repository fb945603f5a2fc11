/** The API reference: TypeDoc writes its pages. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DefaultTheme } from "vitepress";
import { anchorOf, summaryOf } from "./markdown.js";
import { ENTRY_POINTS } from "./navigation.js";
import { PAGES, ROOT } from "./pages.js";

const API = join(PAGES, "api");

/** Writes the pages. A warning is an error: a name without a comment, a link that leads nowhere. */
export function writeApiPages(): void {
  execFileSync(
    process.execPath,
    [join(ROOT, "node_modules/typedoc/bin/typedoc"), "--options", "tools/website/typedoc.json", "--logLevel", "Warn"],
    {
      cwd: ROOT,
      stdio: "inherit",
    },
  );
  for (const name of ENTRY_POINTS) {
    const path = join(API, `${name}.md`);
    writeFileSync(path, withAnchorsOfSite(readFileSync(path, "utf8")));
  }
  writeFileSync(join(API, "index.md"), index());
}

/**
 * TypeDoc numbers anchors in its own way: that of `OutboxSummary`, too, because `Outbox` has a method `summary`. On the site,
 * the second heading of a name (a type beside its function) has the number 1.
 */
function withAnchorsOfSite(page: string): string {
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => anchorOf(title));
  const isRepeated = (anchor: string) => headings.indexOf(anchor) !== headings.lastIndexOf(anchor);
  return page.replace(/\(#([\w-]+)-\d+\)/g, (_, anchor) => `(#${anchor}${isRepeated(anchor) ? "-1" : ""})`);
}

function index(): string {
  const rows = ENTRY_POINTS.map(
    (name) => `| [${name}](/api/${name}) | ${summaryOf(readFileSync(join(API, `${name}.md`), "utf8"))} |\n`,
  );
  return `# API reference\n\nEvery public name, by the entry point that exports it. Begin with [InventoryClient](/api/stocklot#inventoryclient), [Items](/api/stocklot#items) and [Inventory](/api/stocklot#inventory).\n\n| import | what it provides |\n| --- | --- |\n${rows.join("")}`;
}

/** The entry points. */
export const apiSidebar = (): DefaultTheme.SidebarItem[] => [
  { text: "API reference", link: "/api/" },
  ...ENTRY_POINTS.map((name) => ({ text: name, link: `/api/${name}` })),
];
