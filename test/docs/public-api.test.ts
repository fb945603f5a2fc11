import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { publicApi } from "../../tools/public-api.js";
import { RUN_ALL } from "../support/runs.js";
import { ROOT } from "./support/markdown.js";

// Compiling takes seconds.
it.skipIf(!RUN_ALL)("the public API is what the files in tools/api/ record: npm run api writes them", () => {
  const recorded = new Map(
    readdirSync(join(ROOT, "tools/api")).map((name) => [name, readFileSync(join(ROOT, "tools/api", name), "utf8")]),
  );
  const present = publicApi();
  expect([...recorded.keys()].sort()).toEqual([...present.keys()].sort());
  for (const [name, text] of present) expect(recorded.get(name)?.split("\n")).toEqual(text.split("\n"));
});
