/**
 * Runs all comparisons of stocklot with its peers.
 *
 * npm run bench                             everything, into bench/results.json, bench/charts and the pages that quote them
 * npm run bench -- --quick                  less of everything, under two minutes; writes nothing
 * npm run bench -- overhead page            these sections only; writes nothing
 * npm run bench -- --write overhead page    these sections only, into the results of an earlier run
 *
 * The peers are installed at the first run. Only loopback addresses are used.
 */
import { fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { chartOf } from "./chart.js";
import { chartPath, RESULTS } from "./paths.js";
import { prepare } from "./prepare.js";
import { updateQuotedFigures } from "./quotes.js";
import { isMet, type Results, type Section } from "./results.js";
import { SECTIONS } from "./sections/index.js";
import { tableOf } from "./table.js";

const given = process.argv.slice(2);
const quick = given.includes("--quick");
const names = given.filter((argument) => argument !== "--quick" && argument !== "--write");
const writes = !quick && (names.length === 0 || given.includes("--write"));
const unknown = names.filter((name) => !(name in SECTIONS));
if (unknown.length > 0) {
  console.error(`no section ${unknown.join(", ")}; there are ${Object.keys(SECTIONS).join(", ")}`);
  process.exit(2);
}

await prepare();
const machine = {
  node: process.version,
  cores: availableParallelism(),
  platform: `${process.platform} ${process.arch}`,
};
console.log(`Node ${machine.node}, ${machine.cores} cores, ${machine.platform}${quick ? ", quick" : ""}`);

const measured: Record<string, Section> = {};
for (const name of names.length > 0 ? names : Object.keys(SECTIONS)) {
  const section = await measure(name);
  measured[name] = section;
  console.log(tableOf(section));
}
if (writes) {
  const earlier: Partial<Results> = names.length === 0 ? {} : JSON.parse(readFileSync(RESULTS, "utf8"));
  const all = { ...earlier.sections, ...measured };
  const sections = Object.fromEntries(Object.keys(SECTIONS).flatMap((name) => (all[name] ? [[name, all[name]]] : [])));
  writeFileSync(RESULTS, `${JSON.stringify({ machine, sections }, null, 2)}\n`);
  for (const [name, { chart }] of Object.entries(sections))
    if (chart) writeFileSync(chartPath(name), chartOf(chart, machine));
  updateQuotedFigures();
}
const checks = Object.values(measured).flatMap((section) => section.checks);
console.log(`\n${checks.filter(isMet).length} of ${checks.length} targets met`);

function measure(name: string): Promise<Section> {
  const child = fork(fileURLToPath(new URL("./section.ts", import.meta.url)), [name, quick ? "quick" : "full"], {
    execArgv: [...process.execArgv, "--expose-gc"],
  });
  return new Promise((resolve, reject) => {
    child.once("message", (section) => resolve(section as Section));
    child.once("exit", (code) => reject(new Error(`section ${name} ended with code ${code}`)));
  });
}
