/** The API reference: TypeDoc writes its pages. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DefaultTheme } from "vitepress";
import { summaryOf } from "./markdown.js";
import { API_GROUPS, ENTRY_POINTS } from "./navigation.js";
import { PAGES, ROOT } from "./pages.js";

const API = join(PAGES, "api");

/** The folders of TypeDoc, and the titles of the groups that list their pages. All classes but the client are errors. */
const KINDS: readonly [folder: string, title: string][] = [
  ["classes", "Errors"],
  ["functions", "Functions"],
  ["interfaces", "Interfaces"],
  ["type-aliases", "Types"],
  ["variables", "Variables"],
];

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
  writeFileSync(join(API, "index.md"), index());
}

function index(): string {
  const rows = ENTRY_POINTS.map((name) => {
    const summary = summaryOf(readFileSync(join(API, name, "index.md"), "utf8"));
    return `| [${name}](/api/${name}/index) | ${summary} |\n`;
  });
  return `# API reference\n\nEvery public name, by the entry point that exports it. Begin with [InventoryClient](/api/stocklot/classes/InventoryClient), [Items](/api/stocklot/interfaces/Items) and [Inventory](/api/stocklot/interfaces/Inventory).\n\n| import | what it provides |\n| --- | --- |\n${rows.join("")}`;
}

/** The entry points with their names, in groups. */
export function apiSidebar(): DefaultTheme.SidebarItem[] {
  return [
    { text: "API reference", link: "/api/" },
    ...ENTRY_POINTS.map((name) => ({
      text: name,
      link: `/api/${name}/`,
      collapsed: name !== "stocklot",
      items: groupsOf(name),
    })),
  ];
}

interface ApiPage {
  readonly text: string;
  readonly link: string;
  readonly folder: string;
}

function groupsOf(entryPoint: string): DefaultTheme.SidebarItem[] {
  const pages = KINDS.flatMap(([folder]) => pagesIn(entryPoint, folder));
  if (entryPoint !== "stocklot") return pages;
  const first = Object.entries(API_GROUPS).map(([text, names]) => ({
    text,
    items: names.map((name) => {
      const page = pages.find((each) => each.text === name);
      if (!page) throw new Error(`The API reference has no ${name}`);
      return page;
    }),
  }));
  const listed = new Set(Object.values(API_GROUPS).flat());
  const others = KINDS.map(([folder, title]) => ({
    text: title,
    items: pages.filter((page) => page.folder === folder && !listed.has(page.text)),
  }));
  return [...first, ...others];
}

function pagesIn(entryPoint: string, folder: string): ApiPage[] {
  const path = join(API, entryPoint, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .sort()
    .map((file) => file.replace(/\.md$/, ""))
    .map((text) => ({ text, link: `/api/${entryPoint}/${folder}/${text}`, folder }));
}
