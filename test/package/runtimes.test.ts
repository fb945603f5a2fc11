import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { mainPath, runtimes } from "./runtimes.js";
import { startServices } from "./services.js";
import tools from "./tools/package.json" with { type: "json" };

const entryPoints = z.record(z.string(), z.string());

const guide = readFileSync(new URL("../../docs/operating.md", import.meta.url), "utf8");

/** The table of docs/operating.md: for each runtime, what sends the requests, and what does not work or needs more. */
const documented = readTable();

function readTable(): Map<string, { transport: string; missing: string }> {
  const [, section = ""] = guide.split("\n## Runtimes\n");
  const rows = section.split("\n").filter((line) => line.startsWith("| "));
  return new Map(
    rows.slice(1).flatMap((row) => {
      const [, names = "", transport = "", missing = ""] = row.split("|").map((cell) => cell.trim());
      const versions = /^Node\.js (.*)$/.exec(names)?.[1]?.split(", ");
      const runtimes = versions?.map((version) => `Node.js ${version}`) ?? [names];
      return runtimes.map((name) => [name, { transport, missing }] as const);
    }),
  );
}

/** Returns the name that the table uses for an entry point. */
const inTable = (entry: string) =>
  entry.endsWith(", SQLite") ? "SQLite" : entry.endsWith(", listen") ? "`sandbox.listen()`" : `\`${entry}\``;

it("each runtime of the guide is tested, in the versions that it names", () => {
  expect(guide).toContain(`Bun ${tools.dependencies.bun}, Deno ${tools.dependencies.deno}`);
  expect([...documented.keys()]).toEqual(runtimes.map(({ name }) => name));
});

describe.concurrent.each(runtimes)("$name", ({ name, run, transport }) => {
  it("takes every step of the main path, with no option set", async () => {
    const services = await startServices();
    const { steps, failed, ...sent } = mainPath.parse(JSON.parse(await run("main-path", services.addresses)));
    expect(failed).toEqual({});
    expect(steps).toBe(22);
    expect(sent.transport).toBe(transport);
    services.expectNothingTwice();
    await services.close();
  });

  it("has all entry points but those that the guide lists", async () => {
    const folder = mkdtempSync(join(tmpdir(), "stocklot-runtime-"));
    const results = entryPoints.parse(JSON.parse(await run("entry-points", { folder })));
    const { transport: sentWith, missing = "" } = documented.get(name) ?? {};
    expect(sentWith).toBe(transport);
    for (const [entry, result] of Object.entries(results))
      expect(`${entry}: ${result}`).toMatch(
        missing.includes(inTable(entry)) ? /: .*Error|: NotCapable|: .*Violation/ : /: works$/,
      );
  });
});
