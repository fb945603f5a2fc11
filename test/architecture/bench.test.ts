import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

const root = new URL("../..", import.meta.url).pathname;

it("the benchmark runs without vitest: it uses no file of the tests that imports vitest", () => {
  const waiting = readdirSync(join(root, "bench"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
    .map((file) => join("bench", file));
  const reached = new Set(waiting);
  const needVitest: string[] = [];
  for (const file of waiting) {
    const { importedFiles } = ts.preProcessFile(readFileSync(join(root, file), "utf8"), true, true);
    for (const { fileName } of importedFiles) {
      const target = relative(root, join(root, dirname(file), fileName)).replace(/\.js$/, ".ts");
      if (fileName === "vitest") needVitest.push(file);
      if (!fileName.startsWith(".") || !target.endsWith(".ts") || reached.has(target)) continue;
      reached.add(target);
      waiting.push(target);
    }
  }
  expect(needVitest).toEqual([]);
  expect(reached).toContain("test/redis/support/redis-server.ts");
});
