/** Set-up file of vitest. It records for each test file which functions of the source its tests call, and how long they take. */
import { mkdirSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect } from "vitest";
import { REACH_FOLDER, type Reach } from "./tests.js";

const { now } = performance;
const startedMs = now.call(performance);
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

afterAll(() => {
  const test = relative(process.cwd(), expect.getState().testPath ?? "");
  const reach: Reach = { test, ms: Math.round(now.call(performance) - startedMs), functions: {} };
  session.post("Profiler.takePreciseCoverage", (_error, { result }) => {
    for (const { url, functions } of result) {
      const file = relative(process.cwd(), url.startsWith("file:") ? fileURLToPath(url) : url);
      if (!file.startsWith("src/")) continue;
      const called = functions.filter(({ ranges }) => ranges.some(({ count }) => count > 0));
      reach.functions[file] = [
        ...new Set([...(reach.functions[file] ?? []), ...called.map(({ functionName }) => functionName)]),
      ];
    }
  });
  session.disconnect();
  mkdirSync(REACH_FOLDER, { recursive: true });
  writeFileSync(join(REACH_FOLDER, `${test.replaceAll("/", ",")}.json`), JSON.stringify(reach));
});
