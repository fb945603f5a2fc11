import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { allPages, lineAt, ROOT } from "./support/markdown.js";
import { proseOfPage, proseOfSource } from "./support/prose.js";

/** What to avoid, and what to write instead. A space also stands for a line break, `\0` for code. */
const AVOIDED: readonly (readonly [avoided: RegExp, instead: string])[] = [
  [/(un)?answer(s|ed|ing)?/, "response, respond"],
  [/(gives|gave)(?! up)|tells/, "return, report"],
  [/(\0|error|report|message|function|method|status|code|header) says/, "report, return, state"],
  [/told of|hears? of|heard of/, "notified of, receives"],
  [/(hold|holds|held|holding) [^.;:]{1,60} against/, "check … against, verify"],
  [/(keeps?|keeping|kept) (to|within)|limit (is|was) kept/, "stay within (a limit), conform to"],
  [
    /(requests?|calls?|times|records|lots|items|slots|bytes|once|twice|runs?|\d+) an? (second|minute|hour|day)/,
    "per …",
  ],
  [/a request an? \w+|(?<!a )\d[\d,]* an? (page|request|resource|call|record|run)/, "per …"],
  [/where (none|nothing|no \w+|one) (is|are|was|were)( \w+)?|where it (is|was) sent/, "if …"],
  [/whoever|whomever/, "name the callers"],
  [/(what|who) ((is|are|was|were|has|have) gone|came|comes?)/, "removed records, the response"],
  [/surely/, "known to, known not to"],
  [/texts|(a|one|each|every|any|another|must be|number of|numbers? as|numeric) text/, "string, numeric string"],
  [/made up/, "generated, invented"],
  [/all the same/, "anyway"],
  [/once more/, "again"],
  [/so long/, "this long, as long as"],
  [/so many/, "this many"],
  [/(sent|sends?|sending) ((it|them|one|the \w+|a \w+) )?again/, "retried (by the client), resent (by the caller)"],
  [/(request|call|write|receipt|attempt)s? (is|are|was|were|be) (never |not )?repeated/, "retried, resent"],
  [/(is|are|was|were|be|been|being) made/, "is created, takes place"],
  [/(puts?|putting|written|writes?) down/, "record"],
  [/lets? (\w+ ){0,3}through/, "admit"],
  [/(go|goes|went) (before|ahead of)/, "takes precedence over"],
  [/(go|goes|going|went) by/, "is based on"],
  [/(a|an|one|each|every|first|second|last|next|another|complete|full|interrupted|such) reading/, "run, scan"],
  [/cut short/, "interrupted, truncated"],
];

const PATTERNS = AVOIDED.map(([avoided, instead]) => ({
  pattern: new RegExp(`(?<![\\w-])(?:${avoided.source.replaceAll(" ", "\\s+")})(?![\\w-])`, "gi"),
  instead,
}));

/** One problem for each avoided phrase, in the order of the prose. */
function problemsOf(path: string, prose: string): string[] {
  return PATTERNS.flatMap(({ pattern, instead }) =>
    [...prose.matchAll(pattern)].map(({ 0: phrase, index }) => ({ phrase, index, instead })),
  )
    .sort((a, b) => a.index - b.index)
    .map(({ phrase, index, instead }) => {
      const shown = phrase.replaceAll("\0", "`…`").replace(/\s+/g, " ");
      return `${path}:${lineAt(prose, index)}: "${shown}" → ${instead}`;
    });
}

const sources = ["src", "examples", "tools/openapi"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name)),
);

describe("no avoided words", () => {
  it("in the Markdown pages", () => {
    expect(allPages().flatMap((page) => problemsOf(page.path, proseOfPage(page)))).toEqual([]);
  });

  it("in comments, messages and other strings of the source", () => {
    const problems = sources.flatMap((path) => problemsOf(path, proseOfSource(readFileSync(join(ROOT, path), "utf8"))));
    expect(problems).toEqual([]);
  });
});

describe("the check of words", () => {
  const inSource = (source: string) => problemsOf("a.ts", proseOfSource(source));
  const inPage = (text: string) => problemsOf("a.md", proseOfPage({ path: "a.md", text }));

  it("names page, line, phrase and replacement", () => {
    expect(inPage("# Title\n\nIt notifies whoever waits.\n")).toEqual(['a.md:3: "whoever" → name the callers']);
  });

  it("reads comments and strings, and no code", () => {
    const source = [
      "/** Whoever",
      " * waits. */",
      `const whoever = \`\${answer} surely\`; // So`,
      "// many.",
      "let so; /* many */",
    ].join("\n");
    expect(inSource(source)).toEqual([
      'a.ts:1: "Whoever" → name the callers',
      'a.ts:3: "surely" → known to, known not to',
      'a.ts:3: "So many" → this many',
    ]);
  });

  it("of a page, reads the comments and strings of TypeScript, and no inline code", () => {
    const page = "`answer` is a field.\n\n```ts\nconst answer = 1; // Sent\n// again.\n```\n\nThe `reason` says why.\n";
    expect(inPage(page)).toEqual([
      'a.md:4: "Sent again" → retried (by the client), resent (by the caller)',
      'a.md:8: "`…` says" → report, return, state',
    ]);
  });

  it.each([
    ["The client requests a page, and a call that fails is retried.", 0],
    ["After a 401 a call is retried once.", 0],
    ["The service allows 100 requests a minute, and 250 records a page cost one.", 1],
    ["It gives up after three attempts, as long as nobody waits.", 0],
    ["A number as text, a text and the service's text.", 2],
    ["Reading the list takes one scan. One reading takes a minute.", 1],
    ["The limit is kept, and the data are checked against the schema.", 1],
    ["The sandbox holds each request against the document.", 1],
  ])("%s", (sentence, problems) => {
    expect(inPage(sentence)).toHaveLength(problems);
  });
});
