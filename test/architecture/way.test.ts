import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { builtProgram } from "../support/built-program.js";

const contributing = readFileSync(new URL("../../.github/CONTRIBUTING.md", import.meta.url), "utf8");

/** Returns the files that CONTRIBUTING.md names between two texts. */
function filesBetween(start: string, end: string): string[] {
  const [, part = ""] = contributing.split(start);
  return [...(part.split(end)[0] ?? "").matchAll(/`(\S+\.ts)`/g)].map(([, file]) => `src/${file}`).sort();
}

it("the way of a request in CONTRIBUTING.md is the way that it takes", async () => {
  const program = await builtProgram(new URL("./way-of-a-request.ts", import.meta.url));
  const { receive, list } = JSON.parse(execFileSync(process.execPath, [program], { encoding: "utf8" }));
  expect(receive).toEqual(filesBetween("`client.inventory.receive(input)` executes", "Before its first request"));
  expect(receive.length).toBeLessThanOrEqual(18);
  expect(list).toEqual(filesBetween("Before its first request", "If an attempt fails"));
  expect(list.length).toBeLessThanOrEqual(9);
});
