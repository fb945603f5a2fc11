import { expect, it } from "vitest";
import { z } from "zod";
import { esbuild } from "./bundle.js";
import { entries, project, run } from "./consumer.js";

const ERROR_CLASSES = 18;
const report = z.object({ copies: z.array(z.number()), checked: z.number(), breaches: z.array(z.string()) });

it("has one error hierarchy across ES modules, CommonJS and minified bundles", async () => {
  const bundles = await Promise.all([esbuild("all.cjs", "all.cjs"), esbuild("all.mjs", "all-of-esm.cjs")]);
  const said = await run(project, process.execPath, "copies.mjs", entries.join(), bundles.join());
  const { copies, checked, breaches } = report.parse(JSON.parse(said));
  expect(breaches).toEqual([]);
  expect(copies.filter((classes) => classes >= ERROR_CLASSES).length).toBeGreaterThanOrEqual(4);
  expect(checked).toBeGreaterThan(2 * (4 * ERROR_CLASSES) ** 2);
});

it("lets pieces of one copy use a client and a limiter of the other", async () => {
  expect(await run(project, process.execPath, "mixed.mjs")).toBe("false,1,function");
});
