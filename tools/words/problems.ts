import { lineAt } from "../../test/docs/support/markdown.js";

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
export function problemsOf(path: string, prose: string): string[] {
  return PATTERNS.flatMap(({ pattern, instead }) =>
    [...prose.matchAll(pattern)].map(({ 0: phrase, index }) => ({ phrase, index, instead })),
  )
    .sort((a, b) => a.index - b.index)
    .map(({ phrase, index, instead }) => {
      const shown = phrase.replaceAll("\0", "`…`").replace(/\s+/g, " ");
      return `${path}:${lineAt(prose, index)}: "${shown}" → ${instead}`;
    });
}
