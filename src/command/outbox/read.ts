import { entryOf, hasMark, markOf, type OutboxEntry, type StoredEntry } from "../../outbox/for-rooms.js";
import { fieldOf, isObject } from "../../shared/unknown.js";
import { skuOfInput } from "../../writes/operation.js";
import { EXIT } from "../exit.js";
import { commandLine, outboxCommandLine, outboxWord } from "../shell.js";
import { dateTime, plural, print, printable, printJson, seconds, table, tell, wrapped } from "../terminal.js";
import { type Action, findEntry, reasonOf } from "./change.js";

/** Counts the entries; fails, each time, while one needs a person or has waited for too long. */
export async function summarize({ outbox, file, flags }: Action): Promise<void> {
  const { maxAge = Number.POSITIVE_INFINITY, json } = flags;
  const summary = await outbox.summary();
  const { oldestUnsettledMs, ...states } = summary;
  const isTooOld = oldestUnsettledMs !== null && oldestUnsettledMs > maxAge;
  const { rejected, unknown } = summary;
  process.exitCode = rejected > 0 || unknown > 0 || isTooOld ? EXIT.failure : EXIT.success;
  if (json) return printJson(summary);
  await print(table(["state", "entries"], Object.entries(states)));
  if (oldestUnsettledMs !== null) await print(`The oldest unsettled entry waits for ${seconds(oldestUnsettledMs)}.`);
  if (isTooOld) tell(`It waits for longer than ${seconds(maxAge)}.`);
  const list = (state: string) => commandLine("outbox", "list", outboxWord(file), "--state", state);
  if (unknown > 0)
    tell(
      `${plural(unknown, "entry", "entries")} unknown: decide about what may have been applied.\n  ${list("unknown")}`,
    );
  if (rejected > 0)
    tell(
      `${plural(rejected, "entry", "entries")} rejected: correct, resolve or cancel what the service refused.\n  ${list("rejected")}`,
    );
}

export async function listEntries({ outbox, flags: { state, item, json } }: Action): Promise<void> {
  const entries: OutboxEntry[] = [];
  for await (const entry of outbox.entries({ state, item })) entries.push(entry);
  if (json) return printJson(entries);
  const rows = entries.map(({ key, state, operation, input, addedAt }) => [
    key,
    state,
    operation,
    skuOfInput(input),
    `${dateTime(addedAt).slice(0, 19)}Z`,
  ]);
  if (rows.length > 0) await print(table(["key", "state", "operation", "item", "added"], rows));
  else tell("There are no such entries.");
  const reasons = entries.flatMap(({ key, error }) => (error === undefined ? [] : [`${key}: ${reasonOf(error)}`]));
  if (reasons.length > 0) await print(["\nReasons:", ...reasons.map((reason) => `  ${wrapped(reason, 4)}`)].join("\n"));
}

export async function showEntry({ outbox, file, words: [typed = ""], flags }: Action): Promise<void> {
  const stored = await findEntry(outbox, file, typed);
  const { key } = stored;
  const entry = entryOf(stored);
  if (flags.json) return printJson(entry, 2);
  const mark = markOf(await outbox.read(async ({ id }) => id), key);
  const { state, addedAt, sentAt, settledAt, resolvedAt, resolvedFrom, attempts, result, error } = entry;
  const lines: [label: string, value: string | undefined][] = [
    ["key", key],
    ["state", state],
    ["operation", entry.operation],
    ["added", dateTime(addedAt)],
    ["sent", sentAt === undefined ? "never" : `${dateTime(sentAt)}, ${plural(attempts, "attempt")}`],
    ["settled", settledAt === undefined ? undefined : dateTime(settledAt)],
    ["resolved", resolvedAt === undefined ? undefined : `${dateTime(resolvedAt)} by a person; it was ${resolvedFrom}`],
    ...shownFieldsOf(entry.input),
    ["result", JSON.stringify(result)],
    ["reason", error === undefined ? undefined : reasonOf(error)],
    ...(state === "unknown" ? evidenceOf(entry, mark) : []),
  ];
  for (const [label, value] of lines) {
    if (value === undefined) continue;
    await print(`${printable(label).padEnd(LABEL_WIDTH)} ${wrapped(printable(value), LABEL_WIDTH + 1)}`.trimEnd());
  }
  for (const line of nextSteps(stored, file)) await print(line);
}

const LABEL_WIDTH = 12;

function shownFieldsOf(input: unknown): [string, string][] {
  if (!isObject(input)) return [["contents", "pruned"]];
  return Object.entries(input).map(([name, value]) => [
    `  ${name}`,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
}

/** Returns lines about what the outbox has looked for, and the lots that may belong to this receipt. */
function evidenceOf(
  { operation, sentAt = 0, error, input }: OutboxEntry,
  mark: string,
): [string, string | undefined][] {
  const since = `since ${dateTime(sentAt)}`;
  const item = skuOfInput(input);
  if (operation === "create") return [["looked for", `the item ${item}, created ${since}`]];
  if (operation !== "receive") return [];
  const how = hasMark(Object(input), mark)
    ? `, with the mark ${mark}`
    : "; nothing in the receipt identifies its lot, so each of them may be its own";
  const lots: unknown = fieldOf(error, "lots");
  return [
    ["looked for", `lots of ${item}, received ${since}${how}`],
    ["may match", Array.isArray(lots) ? `lots (recno) ${lots.join(", ")}` : undefined],
  ];
}

function nextSteps({ key, state, input }: StoredEntry, file: string): string[] {
  const step = (label: string, action: string, ...words: string[]) =>
    `${label}:\n  ${outboxCommandLine(action, file, key, ...words)}`;
  if (input === null) return [];
  const item = skuOfInput(JSON.parse(input));
  if (state === "unknown")
    return [
      "",
      `Compare with what the service stores:\n  ${commandLine("get", item)}`,
      step("If it was applied", "resolve", "applied"),
      step("If it was not applied, send it", "resolve", "not-applied"),
    ];
  if (state === "rejected")
    return ["", step("To resend it as it is", "resolve", "not-applied"), step("To drop it", "cancel")];
  return state === "pending" ? ["", step("To drop it", "cancel")] : [];
}
