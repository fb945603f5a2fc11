/** Writes the pages of the API reference with TypeDoc, and rearranges them. */
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

/** Writes the pages. A warning of TypeDoc is an error: a name without a comment, or a link that leads nowhere. */
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

/** The sections of the page of the client, each with its names, in order of use. */
const GROUPS: readonly (readonly [title: string, names: RegExp])[] = [
  ["The client", /^(InventoryClient|ClientOptions|RequestOptions|RateLimitOptions|RetryOptions)$/],
  ["Items and inventory", /^(Items|Inventory|.*Scope|ItemSearchOptions|Find\w+|Found\w+)$/],
  ["Lists", /^(Paginator|Page|ListOptions|\w*ListParams|PagingOptions|ListParams)$/],
  ["Records and inputs", /^(Item|Lot|StockLevel|\w+Input|ItemChanges|\w+edItem|TransactionResult|SentRequest)$/],
  ["Errors", /Error$|^Issue$/],
  ["More", /./],
];

/** Splits a page into sections. Each has a heading of this level, and everything below it. */
const sectionsOf = (text: string, level: number): string[] => text.split(new RegExp(`^(?=#{${level}} )`, "m"));

const nameOf = (section: string) => /^#+ (?:`\w+` )?([\w$]+)/.exec(section)?.[1] ?? "";

/** Arranges the names of a page in order of use, and folds their details. */
function arranged(page: string): string {
  const [head = "", ...sections] = sectionsOf(page.replace(/^\*\*\*\n+/gm, "").replace(/^## .*\n+/gm, ""), 3);
  const named = sections.map((section) => ({ name: nameOf(section), text: withFoldedMembers(section) }));
  if (!named.some(({ name }) => name === "InventoryClient"))
    return (
      head +
      inOrderOfUse(named)
        .map(({ text }) => text)
        .join("")
    );
  const groups = GROUPS.map(([title, names], index) => {
    const isFirst = (name: string) => GROUPS.findIndex(([, each]) => each.test(name)) === index;
    // Names that the pattern lists are in its order, and others follow.
    const order = (name: string) => (names.source.includes(name) ? names.source.indexOf(name) : names.source.length);
    const own = named.filter(({ name }) => isFirst(name));
    own.sort((left, right) => order(left.name) - order(right.name));
    return `## ${title}\n\n${own.map(({ text }) => text).join("")}`;
  });
  return head + groups.join("");
}

interface NamedSection {
  readonly name: string;
  readonly text: string;
}

/** Sorts sections: functions that create something, other functions, then types in the order in which they are mentioned. */
function inOrderOfUse(sections: readonly NamedSection[]): NamedSection[] {
  const functions = sections.filter(({ text }) => /^### [\w$]+\(\)/.test(text));
  const placed = functions.sort(
    (left, right) => Number(right.name.startsWith("create")) - Number(left.name.startsWith("create")),
  );
  // The loop also visits the sections that it adds to `placed`.
  for (const { text } of placed)
    for (const [, anchor] of text.matchAll(/\(#([\w-]+)\)/g)) {
      const section = sections.find(({ name }) => anchorOf(name) === anchor);
      if (section && !placed.includes(section)) placed.push(section);
    }
  return [...placed, ...sections.filter((section) => !placed.includes(section))];
}

const titleOfPart = (part: string) => /^#+ (.*)/.exec(part)?.[1] ?? "";
const bodyOf = (part: string) => part.replace(/^#+ .*\n+/, "");
const folded = (summary: string, text: string) =>
  `<details>\n<summary>${summary}</summary>\n\n${text.trim()}\n\n</details>\n\n`;

/** Arranges the section of a class, function or type: its description and an example, then its members. */
function withFoldedMembers(section: string): string {
  const [head = "", ...groups] = sectionsOf(section, 4);
  const isFunction = groups.some((group) => /^(Returns|Parameters)$/.test(titleOfPart(group)));
  if (isFunction) return head + withFoldedDetails(groups);
  const isError = nameOf(section).endsWith("Error");
  return head + groups.map((group) => arrangedGroup(group, isError)).join("");
}

function arrangedGroup(group: string, isError: boolean): string {
  const [, ...all] = sectionsOf(group, 5);
  const members = all.filter((member) => !/^###### Inherited from\n+.*Error/m.test(member)).map(arrangedMember);
  switch (titleOfPart(group)) {
    case "Extends":
    case "Implements":
    case "Extended by":
      return inOneLine(group);
    case "Example":
      return bodyOf(group);
    case "Type Parameters":
      // A table that contains only names of type parameters is left out.
      return tableIn(bodyOf(group)).rows[0]?.length === 1 ? "" : folded("type parameters", bodyOf(group));
    case "Union Members":
    case "Type Declaration":
      return folded(titleOfPart(group).toLowerCase(), group.replace(/^#### .*\n+/, ""));
    case "Properties":
      return arrangedProperties(bodyOf(group));
    case "Constructors":
      // Only the package creates errors, so the constructor of an error class is folded.
      return isError && members.length > 0 ? folded("constructor", members.join("")) : members.join("");
    case "Accessors":
    case "Methods":
      return members.join("");
    default:
      return group;
  }
}

/** Writes "Extends A" in one line, instead of a list below a heading. */
const inOneLine = (group: string) => {
  const names = [...bodyOf(group).matchAll(/^- (.*)$/gm)].map(([, name]) => name?.replaceAll(").[", "), ["));
  const ending =
    titleOfPart(group) === "Extends" && names.some((name) => name?.includes("(#")) ? ", with its members" : "";
  return `${titleOfPart(group)} ${names.join(", ")}${ending}.\n\n`;
};

/** Arranges a member. Its signature already shows what it returns. */
function arrangedMember(member: string): string {
  const [head = "", ...parts] = sectionsOf(member.replace(/^###### Get Signature\n+/m, ""), 6);
  return head.replace(/^#/, "") + withFoldedDetails(parts);
}

/** Shows the example first, and folds parameters, results and errors. */
function withFoldedDetails(parts: readonly string[]): string {
  const titled = parts.map((part) => ({
    title: titleOfPart(part),
    text: part.replace(/^#+/, "#####"),
    body: bodyOf(part),
  }));
  const examples = titled.filter(({ title }) => title === "Example");
  const isTypeAlone = (body: string) => !/\s[a-z]+ [a-z]+/.test(body.replace(/`[^`]*`/g, ""));
  const details = titled.filter(
    ({ title, body }) =>
      !/^(Example|Overrides|Inherited from|Implementation of)$/.test(title) &&
      !(title === "Returns" && isTypeAlone(body)),
  );
  const example = examples.map(({ body }) => body).join("");
  if (details.length === 0) return example;
  const summary = details.map(({ title }) => title.toLowerCase()).join(", ");
  return example + folded(summary, details.map(({ text }) => text).join(""));
}

const cellsOf = (row: string) => row.slice(2, -2).split(/(?<!\\) \| /);

/** Splits a text into the rows of the table with which it begins, and the text below the table. */
function tableIn(text: string): { rows: string[][]; below: string } {
  const [table = ""] = /^(?:\|.*\n?)*/.exec(text) ?? [];
  return { rows: table.trim().split("\n").map(cellsOf), below: text.slice(table.length) };
}

const rowOf = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

const withoutExample = (cell: string) => cell.replace(/ \*\*Example\*\* .*$/, "");

/** Restores the lines of a list, which TypeDoc writes into one line. */
const withLinesOfList = (cell: string) =>
  cell.replace(/(?:^| )- (?=`[^`]+`:)/g, (_, at: number) => (at > 0 ? "<br>" : ""));

/** Writes a default that is a sentence as text. TypeDoc writes every default as code. */
const withDefaultAsText = (cell: string) => cell.replace(/(\*\*Default\*\* )`((?![{[])[^` ]* [^`]*)`/, "$1$2");

/** A table with more properties than this is folded. Only the names of the properties are shown. */
const MOST_PROPERTIES = 6;

/** Arranges the table of properties, without those of an exported ancestor, and without `readonly` and `public`. */
function arrangedProperties(text: string): string {
  const { rows, below } = tableIn(text);
  const [columns = []] = rows;
  const inherited = columns.indexOf("Inherited from");
  const isShown = (column: number) => !/^(Modifier|Inherited from|Overrides)$/.test(columns[column] ?? "");
  const [head = [], rule = [], ...own] = rows
    .filter((cells, index) => index < 2 || inherited < 0 || !cells[inherited]?.includes("]("))
    .map((cells) => cells.filter((_, column) => isShown(column)));
  if (own.length === 0) return "";
  const shown = (cell: string) => withDefaultAsText(withLinesOfList(cell));
  const table = `${[head, rule, ...own].map((cells) => `${rowOf(cells.map(shown))}\n`).join("")}\n${below}`;
  if (own.length <= MOST_PROPERTIES) return `${table}\n`;
  // A dotted name is a field of a property that is an object. It is not listed.
  const names = own.map(([cell = ""]) => /`([^`]+)`/.exec(cell)?.[1] ?? "").filter((name) => !name.includes("."));
  const list = names.map((name) => `<code>${name}</code>`).join(", ");
  return folded(`${names.length} properties: ${list}`, table);
}

/** Returns the examples of options, by interface. In a table, TypeDoc would write each example into one line. */
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

/** Adds the examples of options below their table, folded. */
const withExamplesBelow = (page: string, examples: ReadonlyMap<string, string[]>) =>
  sectionsOf(page, 3)
    .map((section) => {
      const own = examples.get(nameOf(section));
      const table = section.replace(/^\| .* \|$/gm, (row) => rowOf(cellsOf(row).map(withoutExample)));
      if (!own || table === section) return table;
      const code = `\`\`\`ts\n${own.join("\n\n")}\n\`\`\``;
      return table.replace(
        /(?:^\| .*\n)+(?![\s\S]*^\| )/m,
        `$&\n<details>\n<summary>examples</summary>\n\n${code}\n\n</details>\n`,
      );
    })
    .join("");

/** Returns the first sentence of each class, interface and type, by its name. */
function firstSentences(pages: readonly string[]): Map<string, string> {
  const names = pages.flatMap((page) => [
    ...page.matchAll(/^### ([\w$]+)(?:\\<.*)?\n\n(?:> .*\n\n)?([A-Z][\s\S]*?)(?:\n\n|$)/gm),
  ]);
  return new Map(names.map(([, name = "", text = ""]) => [name, sentenceOf(text)]));
}

const sentenceOf = (text: string) => /^.*?[.:](?= |$)/.exec(text.replaceAll("\n", " "))?.[0].replace(/:$/, ".") ?? "";

/** The fields of the service's document that describe a parameter of the same name. */
const FIELDS: Readonly<Record<string, { readonly description: string }>> = {
  ...openApi.components.schemas.Item.properties,
  shortIDs: { description: "SKUs of the items." },
  categoryID: openApi.components.schemas.Item.properties.category,
};

/** Adds the description of its type, or of the field with its name, to a parameter that has no description. */
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

/** Combines errors into one list. TypeDoc writes a heading for each error. */
const withOneListOfErrors = (page: string) =>
  page.replace(
    /^(#+) Throws\n(?:\n[\s\S]*?\n(?=\n(?:#|\*\*\*)))(?:\n\1 Throws\n(?:\n[\s\S]*?\n(?=\n(?:#|\*\*\*))))*/gm,
    (all, level: string) => {
      const errors = all.split(`${level} Throws\n`).map((text) => text.trim().replaceAll("\n", " "));
      return `${level} Throws\n\n${errors.flatMap((error) => (error ? [`- ${error}\n`] : [])).join("")}`;
    },
  );

/** Returns the anchors of the error classes, by their names. */
const errorAnchors = (page: string) =>
  new Map(
    [...page.matchAll(/^### (?:`abstract` )?(\w+Error)$/gm)].map(([heading, name = ""]) => [name, anchorOf(heading)]),
  );

/** Links the names of error classes to their descriptions, but not within code such as `OutcomeUnknownError.request`. */
const withErrorLinks = (page: string, anchors: ReadonlyMap<string, string>) =>
  page.replace(
    /^```[\s\S]*?^```$|^[#>].*$|\[[^\]]*\]\([^)]*\)|`([^`\n]*)`|\b(\w+Error)\b/gm,
    (all, code?: string, name = code) => {
      const anchor = anchors.get(name ?? "");
      return anchor === undefined ? all : `[\`${name}\`](/api/stocklot#${anchor})`;
    },
  );

/**
 * Corrects the numbers in anchors. TypeDoc also numbers `OutboxSummary`, because `Outbox` has a method `summary`. The site only
 * numbers the second heading of the same name, such as that of a type beside its function, with 1.
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

/** Returns the sidebar of the API reference, which lists the entry points. */
export const apiSidebar = (): DefaultTheme.SidebarItem[] => [
  { text: "API reference", link: "/api/" },
  ...ENTRY_POINTS.map((name) => ({ text: name, link: `/api/${name}` })),
];
