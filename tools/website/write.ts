/** Writes the tables of docs/reference.md, SKILL.md and llms.txt: `npm run docs:write`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { generatedFiles } from "./generated.js";
import { ROOT } from "./pages.js";

for (const [path, text] of generatedFiles()) writeFileSync(join(ROOT, path), text);
