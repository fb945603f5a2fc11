import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import openApi from "../../openapi.json" with { type: "json" };
import packageJson from "../../package.json" with { type: "json" };
import { withTables } from "../../tools/website/field-tables.js";
import { generatedFiles } from "../../tools/website/generated.js";
import { anchorsOf, linksOf } from "./support/links.js";
import { ROOT } from "./support/markdown.js";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

describe.each([...generatedFiles()])("%s", (path, expected) => {
  it("is up to date with what it is generated from", () => {
    if (process.env.UPDATE_DOCS) writeFileSync(join(ROOT, path), expected);
    expect(read(path), "run `npm run docs:write`").toBe(expected);
  });

  it("links to files and headings that exist", () => {
    // Links of a guide are relative to its folder.
    const folder = path.replace(/[^/]+$/, "");
    const broken = linksOf({ path, text: expected }).filter(({ target }) => {
      const [file = "", anchor] = target.split("#");
      const linked = file === "" ? path : join(folder, file);
      if (!existsSync(join(ROOT, linked))) return true;
      return anchor !== undefined && !anchorsOf({ path: linked, text: read(linked) }).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

describe("the tables of docs/reference.md", () => {
  const guide = read("docs/reference.md");

  const rowsOf = (table: string) => {
    const [, rows = ""] = new RegExp(`begin: fields ${table} -->\n([\\s\\S]*?)<!--`).exec(guide) ?? [];
    return [...rows.matchAll(/^\| `(\w+)` \|.*\| (.*) \|$/gm)].map(([, name, inputs]) => ({ name, inputs }));
  };

  it.each(["Item", "Lot", "StockLevel"] as const)("has a row for each field of %s", (schema) => {
    const names = rowsOf(schema).map(({ name }) => name);
    expect(names).toEqual(Object.keys(openApi.components.schemas[schema].properties));
  });

  it.each([
    ["Item", "create", "CreateItem"],
    ["Item", "update", "UpdateItem"],
    ["Transaction", "receive", "Receive"],
    ["Transaction", "move", "Move"],
    ["Transaction", "issue", "Issue"],
  ] as const)("of %s shows which fields %s takes, and which it requires", (table, method, schema) => {
    const taken = rowsOf(table).filter(({ inputs }) => inputs?.match(/\w+/g)?.includes(method));
    const { properties, required } = openApi.components.schemas[schema];
    expect(taken.map(({ name }) => name).sort()).toEqual(Object.keys(properties).sort());
    const marked = taken.filter(({ inputs }) => inputs?.endsWith(": required"));
    expect(marked.map(({ name }) => name).sort()).toEqual([...required].sort());
  });

  it("need a unit in the comment on each decimal", () => {
    const changed = JSON.parse(JSON.stringify(openApi).replaceAll("in the item's unit of measure", ""));
    expect(() => withTables(guide, changed)).toThrow("A number has no unit");
  });
});

describe("SKILL.md and llms.txt", () => {
  it.each(["SKILL.md", "llms.txt"])("%s has ten rules, the methods, and is part of the package", (path) => {
    const text = read(path);
    expect(text.match(/^\d+\. \*\*/gm)).toHaveLength(10);
    expect(text).toContain("client.inventory.receive(input)");
    expect(packageJson.files).toContain(path);
    // Short enough to be read whole.
    expect(text.length).toBeLessThan(12_000);
  });
});
