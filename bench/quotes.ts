/** Writes the figures in the README and in bench/README.md. Each figure is between two comments that name it. */
import { readFileSync, writeFileSync } from "node:fs";
import { findingOf } from "./findings.js";
import { RESULTS } from "./paths.js";
import { figureOf, type Results, type Section } from "./results.js";
import { checkLine, textOf } from "./table.js";

/** The pages that quote the results. */
export const QUOTING = ["README.md", "bench/README.md"].map((name) => new URL(`../${name}`, import.meta.url));

const QUOTE = /(<!-- begin: (bench|finding) (\S+) -->\n)[\s\S]*?(<!-- end: \2 \3 -->)/g;

/** Returns a page with the figures of these results. */
export function quoting(page: string, results: Results): string {
  return page.replace(QUOTE, (_, begin: string, kind: string, name: string, end: string) => {
    const section = results.sections[name];
    return begin + (kind === "finding" && section ? findingOf(name, section) : quote(name, results)) + end;
  });
}

/** Writes the figures of the last run into the pages. */
export function updateQuotedFigures(): void {
  const results = JSON.parse(readFileSync(RESULTS, "utf8"));
  for (const page of QUOTING) writeFileSync(page, quoting(readFileSync(page, "utf8"), results));
}

function quote(name: string, { machine, sections }: Results): string {
  if (name === "machine") return `Node ${machine.node}, ${machine.cores} cores, ${machine.platform}.\n`;
  if (name === "summary") return list(headlines({ machine, sections }));
  const section = sections[name];
  if (!section) throw new Error(`bench/results.json has no section ${name}`);
  return `${section.note}\n\n${table(section)}${list(section.checks.map(checkLine))}`;
}

/** Returns the figures of the README. */
function headlines(results: Results): string[] {
  const figure = (name: string, index = 0) => figureOf(results, name, index);
  return [
    `One call takes **${figure("overhead").toFixed(2)}×** the time of \`undici.request\` with \`JSON.parse\`, with limiter, token, retries and validation.`,
    `Reading 1,000 pages uses **${figure("quota").toFixed(0)} %** of the rate limit, and **${figure("quota", 1)}** requests get a 429.`,
    `The stock of one item among 20,000 costs **${figure("search")}** requests, the look-up of the item included. Reading the list costs 80.`,
    `An iteration over 1,000,000 lots needs **${figure("memory").toFixed(1)} MiB** of memory.`,
  ];
}

function table({ columns, rows }: Section): string {
  const rule = columns.map((_, index) => (index === 0 ? "---" : "---:"));
  const lines = [columns, rule, ...rows.map((row) => row.map(textOf))];
  return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

const list = (lines: string[]) => (lines.length === 0 ? "" : `\n${lines.map((line) => `- ${line}\n`).join("")}\n`);
