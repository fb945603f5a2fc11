/** Words to avoid, in the Markdown pages, and in comments, messages and other strings of the source. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { allPages, ROOT } from "../../test/docs/support/markdown.js";
import { problemsOf } from "./problems.js";
import { proseOfPage, proseOfSource } from "./prose.js";

const sources = ["src", "examples", "tools/openapi"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name)),
);

const problems = [
  ...allPages().flatMap((page) => problemsOf(page.path, proseOfPage(page))),
  ...sources.flatMap((path) => problemsOf(path, proseOfSource(readFileSync(join(ROOT, path), "utf8")))),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
