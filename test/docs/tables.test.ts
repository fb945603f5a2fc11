import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import openApi from "../../openapi.json" with { type: "json" };
import { EXPORTS } from "../../src/command/export/command.js";
import { FAULT_NAMES } from "../../src/sandbox/faults.js";
import { LISTS } from "../../src/service/lists.js";
import { isTransientStatus } from "../../src/service/status.js";
import { ROOT } from "./support/markdown.js";
import { membersByType } from "./support/public-api.js";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** The text below a heading, up to the next heading of its level or above. */
function sectionOf(path: string, heading: string): string {
  const [, level = "", rest = ""] = new RegExp(`^(#+) ${heading}\\n([\\s\\S]*)`, "m").exec(read(path)) ?? [];
  return rest.split(new RegExp(`^#{1,${level.length}} `, "m"))[0] ?? "";
}

const membersOf = (entryPoint: string, type: string) => membersByType(entryPoint, "interface|class").get(type) ?? [];

/** Names that must be explained, each with the section that must contain it. */
it.each<[what: string, names: readonly string[], path: string, heading: string]>([
  ["options of a client", membersOf("stocklot", "ClientOptions"), "docs/reference.md", "Client options"],
  ["options of a request", membersOf("stocklot", "RequestOptions"), "docs/reference.md", "Request options"],
  ["methods of items", membersOf("stocklot", "Items"), "docs/reference.md", "Methods"],
  ["methods of inventory", membersOf("stocklot", "Inventory"), "docs/reference.md", "Methods"],
  ["options of the sandbox", membersOf("stocklot/sandbox", "SandboxOptions"), "docs/testing.md", "All options"],
  ["faults of the sandbox", FAULT_NAMES, "docs/testing.md", "Fault rules"],
  [
    "exports, and columns that they add",
    Object.entries(EXPORTS).flatMap(([name, { added }]) => [name, ...Object.keys(added)]),
    "docs/command.md",
    "export",
  ],
  [
    "fields of the mirror's status",
    membersOf("stocklot/mirror", "MirrorListStatus"),
    "docs/mirror.md",
    "How current the copy is",
  ],
  [
    "keys of lists",
    Object.values(LISTS).map(({ stableSort }) => stableSort),
    "docs/lists.md",
    "When others change the list",
  ],
])("all %s are in the guide", (_, names, path, heading) => {
  expect(names.length).toBeGreaterThan(1);
  // A generated table has the names in any case.
  const section = sectionOf(path, heading).replace(/<!-- begin[\s\S]*?<!-- end/g, "");
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(section))).toEqual([]);
});

it("the page and the doc comment about retries name each status below 500 that is retried", () => {
  const statuses = Array.from({ length: 100 }, (_, index) => 400 + index).filter(isTransientStatus);
  expect(statuses.length).toBeGreaterThan(0);
  const [, comment = ""] =
    /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s+maxRetries\?/.exec(read("src/client/send/retry-options.ts")) ?? [];
  const unnamed = (text: string) => statuses.filter((status) => !text.includes(String(status)));
  const page = unnamed(sectionOf("docs/operating.md", "Retries"));
  expect({ page, comment: unnamed(comment) }).toEqual({ page: [], comment: [] });
});

it("each record of the service has its fields in the reference", () => {
  // Every schema in the response to a read; a page consists of records.
  const reads = Object.values(openApi.paths).flatMap((path) =>
    "get" in path ? JSON.stringify(path.get.responses[200]) : [],
  );
  const served = reads.flatMap((response) => [...response.matchAll(/#\/components\/schemas\/(\w+)/g)]);
  const records = [...new Set(served.map(([, name = ""]) => name.replace(/Page$/, "")))];
  const shown = [...read("docs/reference.md").matchAll(/<!-- begin: fields (\w+) -->/g)].map(([, name]) => name);
  expect(records.length).toBeGreaterThan(2);
  expect(records.filter((name) => !shown.includes(name))).toEqual([]);
});
