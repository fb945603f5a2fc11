import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { chartOf } from "../../bench/chart.js";
import { chartPath, RESULTS } from "../../bench/paths.js";
import { QUOTING, quoting } from "../../bench/quotes.js";
import type { Results } from "../../bench/results.js";
import { SECTIONS } from "../../bench/sections/index.js";

const results: Results = JSON.parse(readFileSync(RESULTS, "utf8"));
const tables = readFileSync(new URL("../../bench/README.md", import.meta.url), "utf8");

it.each(QUOTING.map((page) => [fileURLToPath(page)]))("%s quotes the figures of bench/results.json", (page) => {
  const text = readFileSync(page, "utf8");
  const current = quoting(text, results);
  if (process.env.UPDATE_DOCS) writeFileSync(page, current);
  else expect(text, "UPDATE_DOCS=1 npx vitest run test/docs/performance.test.ts").toBe(current);
  expect(text).toContain("<!-- begin: bench ");
});

it.each(Object.keys(SECTIONS))("bench/README.md shows what was found of %s, and all that is measured", (name) => {
  expect(tables).toContain(`<!-- begin: finding ${name} -->`);
  expect(tables).toContain(`<!-- begin: bench ${name} -->`);
  expect(results.sections[name]?.rows.length).toBeGreaterThan(0);
});

it("bench/README.md shows the charts of the same run", () => {
  const charts = Object.entries(results.sections).filter(([, { chart }]) => chart);
  expect(charts.length).toBeGreaterThan(3);
  for (const [name, { chart }] of charts) {
    expect(tables).toContain(`(charts/${name}.svg)`);
    if (chart) expect(readFileSync(chartPath(name), "utf8")).toBe(chartOf(chart, results.machine));
  }
});
