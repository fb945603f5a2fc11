import { expect, it } from "vitest";
import { blocksOf, guides, MOST_CHARACTERS } from "./support/markdown.js";

it(`code on the pages has at most ${MOST_CHARACTERS} characters per line`, () => {
  const tooLong = guides()
    .flatMap((page) => blocksOf(page, "ts", "tsx", "js", "sh", "powershell", "sql", "json", "yaml", "dockerfile"))
    .flatMap(({ page, line, code }) =>
      code
        .split("\n")
        .flatMap((text, index) => (text.length > MOST_CHARACTERS ? [`${page}:${line + 1 + index}: ${text}`] : [])),
    );
  expect(tooLong).toEqual([]);
});
