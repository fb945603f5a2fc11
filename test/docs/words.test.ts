import { describe, expect, it } from "vitest";
import { problemsOf } from "../../tools/words/problems.js";
import { proseOfPage, proseOfSource } from "./support/prose.js";

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
