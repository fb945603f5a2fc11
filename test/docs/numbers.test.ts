import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { withoutCode } from "../../tools/website/markdown.js";
import { allPages, lineAt, ROOT } from "./support/markdown.js";

/**
 * The forms that prose and tables must not contain. They write numbers like 1,000 and 20,000, and units like 300 ms, 30 s,
 * 15 minutes, 23 hours, 90 days, 5 kB, 16 MiB and 90 %.
 */
const OTHERWISE: Readonly<Record<string, RegExp>> = {
  // Years, and numbers in names such as RFC 9457, need no comma.
  "no comma between thousands": /(?<![\d.,#:/=-])(?<!RFC |ISO )(?!20\d\d\b|19\d\d\b)\d{4,}(?![\d-])/g,
  "a space between thousands": /(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)/g,
  "no space before the unit": /(?<![\w.#-])(?!429s)\d[\d,.]*(?:ms|s|sec|min|h|d|[kKM]i?B|%)(?!\w)/g,
  "another name of the unit":
    /(?<![\w-])\d[\d,.]* (?:sec|seconds?|milliseconds?|msec|min|mins|h|hrs?|d|KB|Kb|Mb|mb|kb|percent)(?!\w)/g,
};

/** Returns the comments of the source, which the API pages and editors show. */
const comments = () =>
  readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => {
      const text = readFileSync(join(ROOT, "src", path), "utf8");
      const withoutExamples = text.replace(/@example[\s\S]*?\*\//g, blank);
      return { path: `src/${path}`, text: withoutExamples.replace(/^(?! *(?:\/\*\*| \*|\/\/)).*/gm, blank) };
    });

const blank = (text: string) => text.replace(/[^\n]/g, "x");

it.each(Object.entries(OTHERWISE))("no number on the pages or in comments has %s", (_, pattern) => {
  const found = [...allPages(), ...comments()].flatMap(({ path, text }) => {
    const prose = withoutCode(text.replace(/\]\([^)]*\)/g, blank));
    return [...prose.matchAll(pattern)].map((match) => `${path}:${lineAt(prose, match.index)}: ${match[0]}`);
  });
  expect(found).toEqual([]);
});
