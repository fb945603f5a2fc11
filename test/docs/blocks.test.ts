import { expect, it } from "vitest";
import { givenTo } from "./support/given.js";
import { blocksOf, guides } from "./support/markdown.js";
import { snippets } from "./support/snippets.js";

/** What fits into the column of the site at a window of 1280 pixels. */
const MOST_CHARACTERS = 84;

it(`code on the pages has at most ${MOST_CHARACTERS} characters per line`, () => {
  const tooLong = guides()
    .flatMap((page) => blocksOf(page, "ts", "sh", "sql", "js"))
    .flatMap(({ page, line, code }) =>
      code
        .split("\n")
        .flatMap((text, index) => (text.length > MOST_CHARACTERS ? [`${page}:${line + 1 + index}: ${text}`] : [])),
    );
  expect(tooLong).toEqual([]);
});

it("each program on the pages creates what it uses", () => {
  const incomplete = snippets().flatMap(({ name, code }) => givenTo(code).map((given) => `${name} uses ${given}`));
  expect(incomplete).toEqual([]);
});
