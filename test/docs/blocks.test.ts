import { expect, it } from "vitest";
import { blocksOf, guides } from "./support/markdown.js";

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
