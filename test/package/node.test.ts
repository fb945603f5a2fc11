import { describe, expect, it } from "vitest";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { entries, project, run, versionsOf } from "./consumer.js";
import tools from "./tools/package.json" with { type: "json" };

const READ = "300 lots, NotFoundError: true";
const nodes = versionsOf("node").map(({ version, folder }) => ({ version, node: `${folder}/bin/node` }));
const pinned = new Map(Object.entries(tools.dependencies));
const exportsFound = z.record(z.string(), z.object({ required: z.array(z.string()), imported: z.array(z.string()) }));

it("is tested with every supported Node.js version", () => {
  expect(nodes.map(({ version }) => version)).toEqual(["20.19", "22", "24", "26"]);
});

describe.each(nodes)("Node $version", ({ version, node }) => {
  it("is the pinned version", async () => {
    expect(`npm:node@${(await run(project, node, "-v")).slice(1)}`).toBe(pinned.get(`node-${version}`));
  });

  it("reads all lots from an ES module, without a warning", async () => {
    expect(await run(project, node, "--pending-deprecation", "main.mjs")).toBe(READ);
  });

  it("reads all lots from CommonJS, without a warning, also if ES modules cannot be required", async () => {
    expect(await run(project, node, "--pending-deprecation", "main.cjs")).toBe(READ);
    expect(await run(project, node, "--no-experimental-require-module", "main.cjs")).toBe(READ);
  });

  it.each([
    ["each entry point", "--no-experimental-require-module", entries.filter((name) => name !== "stocklot/msw")],
    // msw requires an ES module, and looks for localStorage, of which Node 26 warns.
    ["stocklot/msw", "--disable-warning=ExperimentalWarning", ["stocklot/msw"]],
  ])("exports the same to require() and import() of %s", async (_, flag, names) => {
    const found = exportsFound.parse(JSON.parse(await run(project, node, flag, "entries.cjs", ...names)));
    expect(Object.keys(found)).toEqual(names);
    for (const { required, imported } of Object.values(found)) {
      expect(required).not.toHaveLength(0);
      expect(imported).toEqual(required);
    }
  });

  it.runIf(Number.parseInt(version, 10) >= 24)("runs a TypeScript program by itself", async () => {
    expect(await run(project, node, "types.mts")).toBe("");
  });
});

it("shares one copy of the core between its entry points", async () => {
  const shared = { isSameClass: true, isRedacted: true };
  expect(JSON.parse(await run(project, process.execPath, "shared-core.cjs"))).toEqual([shared, shared]);
});

it("offers the command", async () => {
  expect(await run(project, "node_modules/.bin/stocklot", "--version")).toBe(packageJson.version);
  expect(await run(project, "node_modules/.bin/stocklot", "sandbox", "--help")).toContain("--fault");
});
