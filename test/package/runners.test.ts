import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { project, run, tool } from "./consumer.js";

const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));

it("works under Jest, in CommonJS and without configuration, with its fake timers", async () => {
  const cache = `--cacheDirectory=${join(dirname(project), "jest")}`;
  const output = await run(project, process.execPath, tool("node_modules/jest/bin/jest.js"), cache, "jest.test.cjs");
  expect(output).toMatch(/Tests: +2 passed, 2 total/);
});

it("works under vitest, with its fake timers", async () => {
  const output = await run(project, process.execPath, vitest, "run", "--globals", "vitest.test.mjs");
  expect(output).toMatch(/Tests +2 passed \(2\)/);
});
