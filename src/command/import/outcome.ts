import { entryOf, type OutboxEntry } from "../../outbox/entry.js";
import type { OutboxReport, OutboxState } from "../../outbox/index.js";
import type { Outbox } from "../../outbox/outbox.js";
import { EXIT } from "../exit.js";
import { reasonOf } from "../outbox/action.js";
import { commandLine, outboxCommandLine } from "../shell.js";
import { dateTime, plural, print, printJson, wrapped } from "../terminal.js";
import type { Begun, States } from "./begin.js";
import type { ImportedLine, ImportSettings } from "./lines.js";

/** What the lines of a file have become. */
interface Outcome {
  states: States;
  /** Lines that need a person, in the order of the file. */
  open: (OutboxEntry & { line: number })[];
  /** How many entries of other files need a person. */
  others: number;
}

const STATES_FOR_A_PERSON: readonly OutboxState[] = ["rejected", "unknown"];

export async function outcomeOf(outbox: Outbox, lines: readonly ImportedLine[]): Promise<Outcome> {
  const entries = await outbox.read((store) => store.getMany(lines.map(({ entry }) => entry.key)));
  const states: States = {};
  const open: Outcome["open"] = [];
  for (const { line, entry } of lines) {
    const stored = entries.get(entry.key);
    if (!stored) continue;
    states[stored.state] = (states[stored.state] ?? 0) + 1;
    if (STATES_FOR_A_PERSON.includes(stored.state)) open.push({ ...entryOf(stored), line });
  }
  let all = 0;
  // Without the pruned ones: those are done with.
  for (const state of STATES_FOR_A_PERSON) for await (const _ of outbox.entries({ state })) all += 1;
  return { states, open, others: all - open.filter(({ input }) => input !== null).length };
}

/** Reports, in this order: what happened in this run, what needs a person, what is still open. */
export async function report(
  settings: ImportSettings,
  { requests, durationMs }: OutboxReport,
  { earlier }: Begun,
  outcome: Outcome,
  json: true | undefined,
): Promise<void> {
  const { states, open } = outcome;
  const waiting = (states.pending ?? 0) + (states.sending ?? 0);
  process.exitCode = open.length > 0 || waiting > 0 ? EXIT.failure : EXIT.success;
  const inThisRun = (state: OutboxState) => Math.max(0, (states[state] ?? 0) - (earlier[state] ?? 0));
  const [applied, rejected, unknown] = [inThisRun("applied"), inThisRun("rejected"), inThisRun("unknown")];
  const before = { applied: earlier.applied ?? 0, rejected: earlier.rejected ?? 0, unknown: earlier.unknown ?? 0 };
  if (json) {
    return printJson({ applied, rejected, unknown, pending: waiting, requests, durationMs, earlier: before, open });
  }
  const counts = `${plural(applied, "line")} applied, ${rejected} rejected, ${unknown} unknown`;
  await print(`This run: ${counts}; ${plural(requests, "request")}.`);
  if (before.applied + before.rejected > 0) {
    await print(`Before it: ${before.applied} applied, ${before.rejected} rejected.`);
  }
  await printNeeds(settings, outcome);
  if (waiting > 0) {
    const behind =
      (states.unknown ?? 0) > 0 ? " Those behind an unknown one of the same item wait for the decision." : "";
    await print(`\nStill open: ${plural(waiting, "line")}.${behind} To send what can be sent:\n  ${thisCommand()}`);
  }
}

/** All lines were settled before: what became of them. */
export async function reportComplete(
  settings: ImportSettings,
  completeSince: number,
  outcome: Outcome,
  json: true | undefined,
): Promise<void> {
  process.exitCode = EXIT.alreadyDone;
  const { states, open } = outcome;
  if (json) return printJson({ earlier: states, completeSince, open });
  const { applied = 0, rejected = 0, canceled = 0 } = states;
  await print(
    `${settings.name}: imported on ${dateTime(completeSince)}. Nothing was sent.\n` +
      `${plural(applied + rejected + canceled, "line")}: ${applied} applied, ${rejected} rejected, ${canceled} canceled.`,
  );
  await printNeeds(settings, outcome);
}

/** Each line that needs a person, with the command to paste. */
async function printNeeds({ outboxFile }: ImportSettings, { open, others }: Outcome): Promise<void> {
  if (open.length + others === 0) return;
  await print("\nNeeds you:");
  for (const { key, line, state, error, input } of open) {
    const reason = input === null ? "its contents were pruned" : reasonOf(error);
    await print(`  ${wrapped(`line ${line} is ${state}: ${reason}`, 4)}`);
    if (state === "unknown") await print(`    ${outboxCommandLine("show", outboxFile, key)}`);
    else if (input !== null) await print(`    to drop it: ${outboxCommandLine("cancel", outboxFile, key)}`);
  }
  if (open.some(({ state, input }) => state === "rejected" && input !== null)) {
    await print(`  Correct rejected lines in the file, then:\n    ${thisCommand("--corrects")}`);
  }
  if (others > 0) {
    await print(`  ${plural(others, "entry", "entries")} of other imports:`);
    for (const state of STATES_FOR_A_PERSON) {
      await print(`    ${commandLine("outbox", "list", outboxFile, "--state", state)}`);
    }
  }
}

/** The command that was started, with one more option. */
function thisCommand(option?: string): string {
  const given = process.argv.slice(2);
  return commandLine(...given, ...(option === undefined || given.includes(option) ? [] : [option]));
}
