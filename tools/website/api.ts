/** The API reference: TypeDoc writes its pages. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DefaultTheme } from "vitepress";
import openApi from "../../openapi.json" with { type: "json" };
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
  const pages = ENTRY_POINTS.map((name) => {
    const path = join(API, `${name}.md`);
    return { path, text: withAnchorsOfSite(readFileSync(path, "utf8")) };
  });
  const sentences = firstSentences(pages.map(({ text }) => text));
  const anchors = errorAnchors(pages[0]?.text ?? "");
  for (const { path, text } of pages)
    writeFileSync(path, withErrorLinks(withDescriptions(withOneListOfErrors(text), sentences), anchors));
  writeFileSync(join(API, "index.md"), index());
}

/** The first sentence of each class, interface and type, by its name. */
function firstSentences(pages: readonly string[]): Map<string, string> {
  const names = pages.flatMap((page) => [
    ...page.matchAll(/^### ([\w$]+)(?:\\<.*)?\n\n(?:> .*\n\n)?([A-Z][\s\S]*?)(?:\n\n|$)/gm),
  ]);
  return new Map(names.map(([, name = "", text = ""]) => [name, sentenceOf(text)]));
}

const sentenceOf = (text: string) => /^.*?[.:](?= |$)/.exec(text.replaceAll("\n", " "))?.[0].replace(/:$/, ".") ?? "";

/** What the service's document says of a parameter that is named as a field of it. */
const FIELDS: Readonly<Record<string, { readonly description: string }>> = {
  ...openApi.components.schemas.Item.properties,
  shortIDs: { description: "SKUs of the items." },
  categoryID: openApi.components.schemas.Item.properties.category,
};

/** A parameter without a description of its own has that of its type, or of the field. */
function withDescriptions(page: string, sentences: ReadonlyMap<string, string>): string {
  return page.replace(/^\| Parameter \| Type \|\n\| -+ \| -+ \|\n((?:\|.*\n)+)/gm, (_, rows: string) => {
    const described = rows.replace(/^\| (.*?) \| (.*) \|$/gm, (_row, parameter: string, type: string) => {
      const [, typeName = ""] = /^\[`(\w+)`\]/.exec(type) ?? [];
      const field = FIELDS[/\w+/.exec(parameter)?.[0] ?? ""]?.description ?? "";
      return `| ${parameter} | ${type} | ${sentences.get(typeName) ?? field} |`;
    });
    return `| Parameter | Type | Description |\n| ------ | ------ | ------ |\n${described}`;
  });
}

/** TypeDoc writes a heading for each error. */
const withOneListOfErrors = (page: string) =>
  page.replace(
    /^(#+) Throws\n(?:\n[\s\S]*?\n(?=\n(?:#|\*\*\*)))(?:\n\1 Throws\n(?:\n[\s\S]*?\n(?=\n(?:#|\*\*\*))))*/gm,
    (all, level: string) => {
      const errors = all.split(`${level} Throws\n`).map((text) => text.trim().replaceAll("\n", " "));
      return `${level} Throws\n\n${errors.flatMap((error) => (error ? [`- ${error}\n`] : [])).join("")}`;
    },
  );

/** The anchors of the error classes, by their names. */
const errorAnchors = (page: string) =>
  new Map(
    [...page.matchAll(/^### (?:`abstract` )?(\w+Error)$/gm)].map(([heading, name = ""]) => [name, anchorOf(heading)]),
  );

/** Error classes in comments lead to their descriptions. */
const withErrorLinks = (page: string, anchors: ReadonlyMap<string, string>) =>
  page.replace(
    /^```[\s\S]*?^```$|^[#>].*$|\[[^\]]*\]\([^)]*\)|(`?)\b(\w+Error)\b\1/gm,
    (all, quote?: string, name?: string) => {
      const anchor = anchors.get(name ?? "");
      return anchor === undefined || quote === undefined ? all : `[\`${name}\`](/api/stocklot#${anchor})`;
    },
  );

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
