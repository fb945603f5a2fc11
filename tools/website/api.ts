/** The API reference: TypeDoc writes its pages. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
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
  const examples = optionExamples();
  for (const { path, text } of pages) {
    const described = withDescriptions(withOneListOfErrors(withExamplesBelow(text, examples)), sentences);
    writeFileSync(path, arranged(withErrorLinks(described, anchors)));
  }
  writeFileSync(join(API, "index.md"), index());
}

/** What the page of the client shows first, by use. */
const GROUPS: readonly (readonly [title: string, names: RegExp])[] = [
  ["The client", /^(InventoryClient|ClientOptions|RequestOptions|RateLimitOptions|RetryOptions)$/],
  ["Items and inventory", /^(Items|Inventory|.*Scope|ItemSearchOptions|Find\w+|Found\w+)$/],
  ["Lists", /^(Paginator|Page|ListOptions|\w*ListParams|PagingOptions|ListParams)$/],
  ["Records and inputs", /^(Item|Lot|StockLevel|\w+Input|ItemChanges|\w+edItem|TransactionResult|SentRequest)$/],
  ["Errors", /Error$|^Issue$/],
  ["More", /./],
];

/** A section of a page: its heading of a level, and all below it. */
const sectionsOf = (text: string, level: number): string[] => text.split(new RegExp(`^(?=#{${level}} )`, "m"));

const nameOf = (section: string) => /^#+ (?:`\w+` )?([\w$]+)/.exec(section)?.[1] ?? "";

/** Names by use, members that all errors have said once, and the details of a member folded. */
function arranged(page: string): string {
  const [head = "", ...sections] = sectionsOf(page.replace(/^\*\*\*\n+/gm, "").replace(/^## .*\n+/gm, ""), 3);
  const named = sections.map((section) => ({ name: nameOf(section), text: withFoldedMembers(section) }));
  if (!named.some(({ name }) => name === "InventoryClient")) return head + named.map(({ text }) => text).join("");
  const groups = GROUPS.map(([title, names], index) => {
    const isFirst = (name: string) => GROUPS.findIndex(([, each]) => each.test(name)) === index;
    // As listed, then all others.
    const order = (name: string) => (names.source.includes(name) ? names.source.indexOf(name) : names.source.length);
    const own = named.filter(({ name }) => isFirst(name));
    own.sort((left, right) => order(left.name) - order(right.name));
    return `## ${title}\n\n${own.map(({ text }) => text).join("")}`;
  });
  return head + groups.join("");
}

/** A group of members, all of which another class has. */
const EMPTY_GROUP = /^#### (Properties|Accessors|Constructors|Methods)\n+(?=#### |$(?![\s\S]))/gm;

function withFoldedMembers(section: string): string {
  const [head = "", ...members] = section.split(/^(?=#{4,5} )/m);
  const own = members.filter(
    (member) => !/^###### Inherited from\n+\[`StocklotError`|^###### Inherited from\n+.*Error/m.test(member),
  );
  const isShorter = own.length < members.length;
  const note = isShorter ? "It also has the members of the classes that it extends.\n\n" : "";
  return (head + note + own.map(folded).join("")).replace(EMPTY_GROUP, "");
}

/** Parameters, result, example and errors of a member; fields of an object have the name of the member before theirs. */
function folded(member: string): string {
  const [head = "", ...parts] = sectionsOf(member, 6);
  if (parts.length === 0 || parts[0]?.startsWith("###### Get Signature")) return member;
  const isObject = /\*\*: `object`/.test(head);
  if (isObject) return head + parts.map((part) => part.replace(/^###### /, `###### ${nameOf(head)}.`)).join("");
  const titles = parts.map((part) => /^###### (.*)/.exec(part)?.[1]?.toLowerCase() ?? "").join(", ");
  return `${head}<details>\n<summary>${titles}</summary>\n\n${parts.join("")}\n</details>\n\n`;
}

/** The examples of the options, by interface. In a table TypeDoc would write each into one line. */
function optionExamples(): Map<string, string[]> {
  const examples = new Map<string, string[]>();
  for (const file of readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    const text = readFileSync(join(ROOT, "src", file), "utf8");
    for (const node of ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true).statements) {
      if (!ts.isInterfaceDeclaration(node)) continue;
      const tags = node.members.flatMap((member) => ts.getJSDocTags(member));
      const found = tags.filter(({ tagName }) => tagName.text === "example").map(({ comment }) => comment);
      if (found.length > 0)
        examples.set(
          node.name.text,
          found.map((comment) => ts.getTextOfJSDocComment(comment) ?? ""),
        );
    }
  }
  return examples;
}

/** The examples of options stand below their table, folded. */
const withExamplesBelow = (page: string, examples: ReadonlyMap<string, string[]>) =>
  sectionsOf(page, 3)
    .map((section) => {
      const own = examples.get(nameOf(section));
      const table = section.replace(/ \*\*Example\*\* .*? \|(?= <a |$)/gm, " |");
      if (!own || table === section) return table;
      const code = `\`\`\`ts\n${own.join("\n\n")}\n\`\`\``;
      return table.replace(
        /(?:^\| .*\n)+(?![\s\S]*^\| )/m,
        `$&\n<details>\n<summary>examples</summary>\n\n${code}\n\n</details>\n`,
      );
    })
    .join("");

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

/** Error classes in comments lead to their descriptions. In other code, such as `OutcomeUnknownError.request`, they are left. */
const withErrorLinks = (page: string, anchors: ReadonlyMap<string, string>) =>
  page.replace(
    /^```[\s\S]*?^```$|^[#>].*$|\[[^\]]*\]\([^)]*\)|`([^`\n]*)`|\b(\w+Error)\b/gm,
    (all, code?: string, name = code) => {
      const anchor = anchors.get(name ?? "");
      return anchor === undefined ? all : `[\`${name}\`](/api/stocklot#${anchor})`;
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
