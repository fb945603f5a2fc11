import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
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

  it("fails with an example that does not match its schema", async () => {
    const text = JSON.stringify(document).replace('"hasMore":false', '"hasMore":"no"');
    expect((await lint(text)).join()).toContain("no-invalid-media-type-examples");
  });

  it("is what users import as stocklot/openapi.json", () => {
    expect(createRequire(import.meta.url).resolve("stocklot/openapi.json")).toBe(OPENAPI_FILE.pathname);
    expect(packageJson.files).toContain("openapi.json");
  });

  it("has every row of the service's table of endpoints", () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    // The four forms of GET /Item are one operation; {item} is {partNo} in one row, {shortID} in another.
    expect(operations.sort()).toEqual(
      [
        "POST /Token",
        "GET /Item",
        "GET /Item/All",
        "GET /Item/{item}",
        "POST /Item",
        "PUT /Item",
        "DELETE /Item/{item}",
        "GET /Inventory",
        "GET /Inventory/{wid}",
        "GET /Inventory/StockLevels",
        "GET /Inventory/StockLevels/{wid}",
        "POST /Inventory/Receive",
        "POST /Inventory/Move",
        "POST /Inventory/Issue",
      ].sort(),
    );
  });

  it("contains every message that the service documents, unchanged", () => {
    const { examples } = document.components;
    const messages = Object.values(examples).flatMap((example) => {
      const shown = z.object({ value: z.object({ message: z.string() }) }).safeParse(example).data;
      return shown && !/^The text is an example/.test("description" in example ? example.description : "")
        ? [shown.value.message]
        : [];
    });
    expect(messages.sort()).toEqual(
      [
        "Model validation failed.",
        "Insufficient permissions.",
        "Account is read-only.",
        "Warehouse is outside the client's authorized scope.",
        "Rate Limit Exceeded. 100 per Minute",
      ].sort(),
    );
    expect(document.info.description).toContain("Report access denied.");
  });
});
