import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { generatedFiles } from "../../tools/website/generated.js";
import { ROOT } from "./support/markdown.js";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

describe.each([...generatedFiles()])("%s", (path, expected) => {
  it("is up to date with what it is generated from", () => {
    if (process.env.UPDATE_DOCS) writeFileSync(join(ROOT, path), expected);
    expect(read(path), "run `npm run docs:write`").toBe(expected);
  });
});

describe("SKILL.md and llms.txt", () => {
  it.each(["SKILL.md", "llms.txt"])("%s has ten rules, the methods, and is part of the package", (path) => {
    const text = read(path);
    expect(text.match(/^\d+\. \*\*/gm)).toHaveLength(10);
    expect(text).toContain("client.inventory.receive(input)");
    expect(packageJson.files).toContain(path);
    // An assistant reads the whole file.
    expect(text.length).toBeLessThan(12_000);
  });
});
