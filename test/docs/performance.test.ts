import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { CHART, RESULTS } from "../../bench/paths.js";
import { QUOTING, quoting } from "../../bench/quotes.js";
import { isMet, type Results } from "../../bench/results.js";
import { SECTIONS } from "../../bench/sections/index.js";

const results: Results = JSON.parse(readFileSync(RESULTS, "utf8"));
const guide = readFileSync(new URL("../../docs/performance.md", import.meta.url), "utf8");

it.each(QUOTING.map((page) => [fileURLToPath(page)]))("%s quotes the figures of bench/results.json", (page) => {
  const text = readFileSync(page, "utf8");
  const current = quoting(text, results);
  if (process.env.UPDATE_DOCS) writeFileSync(page, current);
  else expect(text, "UPDATE_DOCS=1 npx vitest run test/docs/performance.test.ts").toBe(current);
  expect(text).toContain("<!-- begin: bench ");
});

it.each(Object.keys(SECTIONS))("the guide shows all that is measured of %s", (name) => {
  expect(guide).toContain(`<!-- begin: bench ${name} -->`);
  expect(results.sections[name]?.rows.length).toBeGreaterThan(0);
});

it("the guide marks a target that was missed", () => {
  const missed = Object.values(results.sections).flatMap(({ checks }) => checks.filter((check) => !isMet(check)));
  expect(guide.match(/^- ✗ /gm) ?? []).toHaveLength(missed.length);
});

it("the README shows the chart of the same run", () => {
  expect(readFileSync(new URL("../../README.md", import.meta.url), "utf8")).toContain("bench/results.svg");
  expect(existsSync(CHART)).toBe(true);
  const { node, cores } = results.machine;
  expect(readFileSync(CHART, "utf8")).toContain(`Node ${node}, ${cores} cores`);
});
