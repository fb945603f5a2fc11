import { expect, it } from "vitest";
import { compileProblems } from "./support/compile-problems.js";
import { snippets } from "./support/snippets.js";

it("every snippet of the README and the guides compiles", () => {
  const programs = snippets();
  expect(programs.length).toBeGreaterThan(5);
  expect(compileProblems(programs)).toEqual([]);
});
