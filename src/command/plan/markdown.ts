import type { CountPlan, ItemPlan } from "../../plan/index.js";

/*
 * A plan as Markdown, for instance for a pull request. Values come from the service and from files: what a reader sees must be
 * what is written, so that nothing of them may be taken for markup. Each stands in a code span, or in a fenced block at the
 * margin if a code span would change it.
 */

/** The largest size of a review page. */
const MAX_BYTES = 1_048_576;
/** Bytes that are kept free for the last line. */
const RESERVED_BYTES = 1_024;

/** Matches white space that a code span changes or hides: line breaks, tabs, spaces at the ends and in a row. */
const FENCED_PATTERN = /[\n\t]|^ | $| {2}/;
/** Matches characters that even a fenced block does not show as they are. */
const UNSEEN_PATTERN = /(?![\n\t ])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Cs}]/u;

/** Matches characters that must not reach a page: control characters, and those that change the order of the text around them. */
const MISLEADING_PATTERN = /(?![\n\r\t])[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;

const longestRun = (text: string) => (text.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 0);

function codeSpan(text: string): string {
  const ticks = "`".repeat(longestRun(text) + 1);
  // Readers of Markdown drop one space at both ends.
  const space = /^`|`$/.test(text) ? " " : "";
  return `${ticks}${space}${text}${space}${ticks}`;
}

function fencedBlock(text: string): string {
  const ticks = "`".repeat(Math.max(3, longestRun(text) + 1));
  return `${ticks}\n${text}\n${ticks}`;
}

/** The character as a reference, which is never markup. */
const references = (text: string) => Array.from(text, (character) => `&#${character.codePointAt(0)};`).join("");

const escapedJson = (text: string) =>
  JSON.stringify(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|(?! )\p{Zs}/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, "0")}`,
    ).join(""),
  );

/** A value that is shown: behind its name in the line, or in blocks of its own below. */
type MarkdownValue = { span: string } | { blocks: string[] };

export function shownValue(value: unknown): MarkdownValue {
  if (value === null || value === undefined || value === "") return { span: "_empty_" };
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (UNSEEN_PATTERN.test(text)) {
    // Ordinary texts have carriage returns and joiners: the text itself stands there, too.
    const isOrdinary = !MISLEADING_PATTERN.test(text);
    return {
      blocks: [
        "As JSON, since it has invisible characters:",
        fencedBlock(escapedJson(text)),
        ...(isOrdinary ? [references(text)] : []),
      ],
    };
  }
  return FENCED_PATTERN.test(text) ? { blocks: [fencedBlock(text)] } : { span: codeSpan(text) };
}

type Named = readonly [name: string, value: unknown];

/** Named values: what fits into a line, then the others one below the other. */
function namedValues(start: string, values: readonly Named[], end = ""): string {
  const shown = values.map(([name, value]) => [name, shownValue(value)] as const);
  const spans = shown.flatMap(([name, one]) => ("span" in one ? [`${name} ${one.span}`.trim()] : []));
  const blocks = shown.flatMap(([name, one]) => ("blocks" in one ? [`${name || "value"}:`, ...one.blocks] : []));
  return [`${start}${spans.join(", ")}${end}`.trimEnd(), ...blocks].join("\n\n");
}

function linesOfItem({ operation, shortID, fields }: ItemPlan["changes"][number]): string[] {
  const head = namedValues(`### ${operation} `, [["", shortID]]);
  if (operation === "discontinue") return [head, namedValues("- ", [["description", fields.description?.before]])];
  const lines = Object.entries(fields).map(([name, { before, after }]) => {
    const field = namedValues("", [["", name]]);
    const values: Named[] =
      operation === "create"
        ? [["is", after]]
        : [
            ["from", before],
            ["to", after],
          ];
    return namedValues(`- ${field} `, values);
  });
  return [head, ...lines];
}

function groupOf({ itemID, spot, serial }: CountPlan["blocked"][number] | CountPlan["changes"][number]): Named[] {
  return [
    ["", itemID],
    ...(spot === undefined ? [] : [["bin", spot] as const]),
    ...(serial === undefined ? [] : [["serial", serial] as const]),
  ];
}

const linesOfLots = (lots: CountPlan["changes"][number]["lots"]) =>
  lots.map(({ recNo, received, spot, serial, units }) =>
    namedValues("- ", [
      ["lot", recNo],
      ["received", received],
      ["bin", spot],
      ["serial", serial],
      ["units", units],
    ]),
  );

function linesOfCount(change: CountPlan["changes"][number]): string[] {
  const { operation, book, counted, units, uOM, lots, writes } = change;
  const [write] = writes;
  const bin: Named[] = write && !("recno" in write) ? [["into bin", write.spot ?? ""]] : [];
  return [
    namedValues(`### ${operation} `, groupOf(change)),
    namedValues("", [["book", book], ["counted", counted], [operation, units], ["unit", uOM], ...bin]),
    ...linesOfLots(lots),
  ];
}

const linesOfBlockedItem = ({ shortID, reason }: ItemPlan["blocked"][number]) => [
  namedValues("### blocked ", [["", shortID]]),
  namedValues("", [["", reason]]),
];

const linesOfBlockedGroup = (group: CountPlan["blocked"][number]) => [
  namedValues("### blocked ", groupOf(group)),
  namedValues("", [
    ["book", group.book],
    ["counted", group.counted],
    ["", group.reason],
  ]),
  ...linesOfLots(group.lots),
];

function entriesOf(plan: ItemPlan | CountPlan): (() => string[])[] {
  if (plan.kind === "items")
    return [
      ...plan.changes.map((change) => () => linesOfItem(change)),
      ...plan.blocked.map((blocked) => () => linesOfBlockedItem(blocked)),
    ];
  return [
    ...plan.changes.map((change) => () => linesOfCount(change)),
    ...plan.blocked.map((blocked) => () => linesOfBlockedGroup(blocked)),
  ];
}

/** The plan as Markdown, in at most 1 MiB. */
export function planMarkdown(plan: ItemPlan | CountPlan): string {
  // If the changes do not fit: how many there are, and what the plan cannot know.
  const [counts = "", ...notes] = plan
    .toText({ limit: 0 })
    .split("\n\n")
    .filter((text) => !/^ *…/.test(text));
  const parts = [`# Plan ${plan.id}`, fencedBlock(counts), ...notes];
  const entries = entriesOf(plan);
  let left = MAX_BYTES - RESERVED_BYTES - Buffer.byteLength(parts.join("\n\n"));
  for (const [index, lines] of entries.entries()) {
    const text = lines().join("\n\n");
    left -= Buffer.byteLength(text) + 2;
    if (left < 0) return [...parts, `… and ${entries.length - index} more`].join("\n\n");
    parts.push(text);
  }
  return parts.join("\n\n");
}
