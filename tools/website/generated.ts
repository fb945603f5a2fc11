/** Generates the files that are committed although they are generated from other files. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { llmsText, skillText } from "./agents.js";
import { withTables } from "./field-tables.js";
import { ROOT, readDocument } from "./pages.js";

const DATA_GUIDE = "docs/reference.md";

/** Returns the expected content of each generated file, by its path in the repository. */
export function generatedFiles(): Map<string, string> {
  const openApi: unknown = JSON.parse(readFileSync(join(ROOT, "openapi.json"), "utf8"));
  return new Map([
    [DATA_GUIDE, withTables(readDocument(DATA_GUIDE), openApi)],
    ["SKILL.md", skillText()],
    ["llms.txt", llmsText()],
  ]);
}
