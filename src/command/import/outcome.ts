import { entryOf, type Outbox, type OutboxEntry } from "../../outbox/for-rooms.js";
import type { OutboxReport, OutboxState } from "../../outbox/index.js";
import { EXIT } from "../exit.js";
import { reasonOf } from "../outbox/change.js";
import { commandLine, outboxCommandLine, outboxWord } from "../shell.js";
import { dateTime, plural, print, printJson, wrapped } from "../terminal.js";
import type { Begun, States } from "./begin.js";
import type { ImportedLine, ImportSettings } from "./lines.js";

export interface Outcome {
  states: States;
  /** The states of the entries that this run has sent or looked up. */
  inThisRun: States;
  /** Lines that need a person, in the order of the file. */
  open: (OutboxEntry & { line: number })[];
}

/** `results`: what this run has done, by key. */
export async function importOutcomeOf(
  outbox: Outbox,
  lines: readonly ImportedLine[],
  results: ReadonlyMap<string, OutboxState> = new Map(),
): Promise<Outcome> {
  const entries = await outbox.read((store) => store.getMany(lines.map(({ entry }) => entry)));
  const states: States = {};
  const inThisRun: States = {};
  const open: Outcome["open"] = [];
  for (const { line, entry } of lines) {
    const stored = entries.get(entry.key);
    if (!stored) continue;
    states[stored.state] = (states[stored.state] ?? 0) + 1;
    const result = results.get(entry.key);
    if (result) inThisRun[result] = (inThisRun[result] ?? 0) + 1;
    if (stored.state === "rejected" || stored.state === "unknown") open.push({ ...entryOf(stored), line });
  }
  return { states, inThisRun, open };
}

/** Reports, in this order: what happened in this run, what needs a person, what is still open. */
export async function report(
  { states, inThisRun, open }: Outcome,
  run: OutboxReport,
  { earlier }: Begun,
  { outboxFile }: ImportSettings,
  json: true | undefined,
): Promise<void> {
  const waiting = (states.pending ?? 0) + (states.sending ?? 0);
  process.exitCode = open.length > 0 || waiting > 0 ? EXIT.failure : EXIT.success;
  const { applied = 0, rejected = 0, unknown = 0 } = earlier;
  const before = { applied, rejected, unknown };
  const now = { applied: 0, rejected: 0, unknown: 0, ...inThisRun };
  const byOthers = (states.applied ?? 0) + (states.rejected ?? 0) - applied - rejected - now.applied - now.rejected;
  // The report also counts entries that are not from this file.
  if (json) return printJson({ ...run, ...now, pending: waiting, earlier: before, open });
  const counts = `${plural(now.applied, "line")} applied, ${now.rejected} rejected, ${now.unknown} unknown`;
  await print(`This run: ${counts}; ${plural(run.requests, "request")}.`);
  if (applied + rejected > 0) await print(`Before it: ${applied} applied, ${rejected} rejected.`);
  if (byOthers > 0) await print(`Meanwhile, another process has sent ${plural(byOthers, "line")}.`);
  await printNeeds(outboxFile, open);
  if (waiting === 0) return;
  const behind = states.unknown ? " Lines after an unknown line of the same item wait for the decision." : "";
  await print(`\nStill open: ${plural(waiting, "line")}.${behind} To send what can be sent:\n  ${thisCommand()}`);
}

/** All lines were settled before: what became of them. */
export async function reportComplete(
  { states, open }: Outcome,
  completeSince: number,
  { name, outboxFile }: ImportSettings,
  json: true | undefined,
): Promise<void> {
  process.exitCode = EXIT.alreadyDone;
  if (json) return printJson({ earlier: states, completeSince, open });
  const { applied = 0, rejected = 0, canceled = 0 } = states;
  await print(
    `${name}: imported on ${dateTime(completeSince)}. Nothing was sent.\n` +
      `${plural(applied + rejected + canceled, "line")}: ${applied} applied, ${rejected} rejected, ${canceled} canceled.`,
  );
  await printNeeds(outboxFile, open);
}

/** Each line that needs a person, with the command to paste. */
async function printNeeds(outboxFile: string, open: Outcome["open"]): Promise<void> {
  if (open.length > 0) await print("\nNeeds you:");
  for (const { key, line, state, error } of open) {
    await print(`  ${wrapped(`line ${line} is ${state}: ${reasonOf(error)}`, 4)}`);
    if (state === "unknown") await print(`    ${outboxCommandLine("show", outboxFile, key)}`);
    else await print(`    to drop it: ${outboxCommandLine("cancel", outboxFile, key)}`);
  }
  if (open.some(({ state }) => state === "rejected"))
    await print(`  Correct rejected lines in the file, then:\n    ${thisCommand("--corrects")}`);
}

/** The command that was started, with one more option. */
function thisCommand(option?: string): string {
  const given = process.argv.slice(2).map(outboxWord);
  return commandLine(...given, ...(option === undefined || process.argv.includes(option) ? [] : [option]));
}
