import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it } from "vitest";
import document from "../../openapi.json" with { type: "json" };
import packageJson from "../../package.json" with { type: "json" };
import { OPENAPI_FILE, openApiText } from "../../tools/openapi/text.js";

const lint = async (source: string) => {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const problems = await lintFromString({ source, absoluteRef: OPENAPI_FILE.pathname, config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer})`);
};

describe("openapi.json", () => {
  it("is up to date with the schemas and the endpoints", () => {
    const text = openApiText();
    if (process.env.UPDATE_DOCS) writeFileSync(OPENAPI_FILE, text);
    expect(readFileSync(OPENAPI_FILE, "utf8"), "run `npm run openapi`").toBe(text);
  });

  it("passes every rule of Redocly's strict set, examples included", async () => {
    expect(await lint(JSON.stringify(document))).toEqual([]);
  });

  it("is what users import as stocklot/openapi.json", () => {
    expect(createRequire(import.meta.url).resolve("stocklot/openapi.json")).toBe(OPENAPI_FILE.pathname);
    expect(packageJson.files).toContain("openapi.json");
  });
});
