import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { mainPath, runtimes } from "./runtimes.js";
import { startServices } from "./services.js";
import tools from "./tools/package.json" with { type: "json" };

const entryPoints = z.record(z.string(), z.string());

const guide = readFileSync(new URL("../../docs/deployment.md", import.meta.url), "utf8");

/** The table of docs/deployment.md: for each runtime, the cell of each entry point. */
const documented = readTable();

function readTable(): Record<string, Record<string, string>> {
  const [, section = ""] = guide.split("\n## Runtimes\n");
  const [, table = ""] = section.split("\n\n");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  const [names = [], ...cells] = rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return Object.fromEntries(
    cells.map(([runtime = "", ...row]) => [
      runtime,
      Object.fromEntries(row.map((cell, index) => [names[index + 1]?.replaceAll("`", "") ?? "", cell])),
    ]),
  );
}

it("each runtime of the guide is tested, in the versions that it names", () => {
  expect(guide).toContain(`Bun ${tools.dependencies.bun}, Deno ${tools.dependencies.deno}`);
  expect(Object.keys(documented)).toEqual(runtimes.map(({ name }) => name));
});

describe.concurrent.each(runtimes)("$name", ({ name, run, transport }) => {
  it("takes every step of the main path, with no option set", async () => {
    const services = await startServices();
    const { steps, failed, report } = mainPath.parse(JSON.parse(await run("main-path", services.addresses)));
    expect(failed).toEqual({});
    expect(steps).toBe(22);
    expect(report).toContain(`, ${name.startsWith("Workers") ? "Cloudflare Workers" : name.replace(/\W.*/, "")}`);
    expect(report).toContain(`\ntransport: ${transport}`);
    services.expectNothingTwice();
    await services.close();
  });

  it("has the entry points that the guide lists", async () => {
    const folder = mkdtempSync(join(tmpdir(), "stocklot-runtime-"));
    const results = entryPoints.parse(JSON.parse(await run("entry-points", { folder })));
    const { "stocklot, sent with": sentWith, ...cells } = documented[name] ?? {};
    expect(sentWith).toBe(transport);
    expect(Object.keys(cells)).toEqual(Object.keys(results));
    for (const [entry, result] of Object.entries(results))
      expect(`${entry}: ${result}`).toMatch(
        cells[entry] === "yes" ? /: works$/ : /: .*Error|: NotCapable|: .*Violation/,
      );
  });
});
