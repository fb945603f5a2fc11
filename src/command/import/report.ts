import { entryOf, type OutboxEntry } from "../../outbox/entry.js";
import type { OutboxReport, OutboxState } from "../../outbox/index.js";
import type { Outbox } from "../../outbox/outbox.js";
import { wording } from "../../shared/errors/wording.js";
import { EXIT } from "../exit.js";
import { reasonOf } from "../outbox/action.js";
import { dateTime, plural, print, printable, table, tell } from "../terminal.js";
import type { Begun } from "./begin.js";
import type { ImportedLine, ImportSettings } from "./lines.js";

/** What the lines of a file have become. */
interface Outcome {
  /** Lines that a person has to look at, in the order of the file. */
  open: OutboxEntry[];
  /** Whether a line is still to be sent. */
  isWaiting: boolean;
  /** How many entries of other files a person has to look at. */
  others: number;
}

const STATES_FOR_A_PERSON: readonly OutboxState[] = ["rejected", "unknown"];

export async function outcomeOf(outbox: Outbox, lines: readonly ImportedLine[]): Promise<Outcome> {
  const entries = await outbox.read((store) => store.getMany(lines.map(({ entry }) => entry.key)));
  const own = lines.flatMap(({ entry }) => entries.get(entry.key) ?? []);
  const open = own.filter(({ state }) => STATES_FOR_A_PERSON.includes(state));
  let all = 0;
  // Without the pruned ones: those are done with.
  for (const state of STATES_FOR_A_PERSON) for await (const _ of outbox.entries({ state })) all += 1;
  return {
    open: open.map(entryOf),
    isWaiting: own.some(({ state }) => state === "pending" || state === "sending"),
    others: all - open.filter(({ input }) => input !== null).length,
  };
}

/** What was done, then each line that a person has to look at. */
export async function report(
  summary: OutboxReport,
  { earlier }: Begun,
  outcome: Outcome,
  json: true | undefined,
): Promise<void> {
  const { applied, rejected, unknown, pending } = summary;
  process.exitCode = outcome.open.length > 0 || outcome.isWaiting ? EXIT.failure : EXIT.success;
  const before = { applied: earlier.applied ?? 0, rejected: earlier.rejected ?? 0, unknown: earlier.unknown ?? 0 };
  if (json) return print(JSON.stringify({ ...summary, earlier: before, open: outcome.open }));
  await print(
    table(
      ["", "applied", "rejected", "in outbox: unknown", "pending"],
      [
        ["this run", applied, rejected, unknown, pending],
        ...(before.applied + before.rejected > 0 ? [["earlier", before.applied, before.rejected, "", ""]] : []),
      ],
    ),
  );
  await printOpen(outcome);
}

/** All lines were settled before: what became of them. */
export async function reportComplete(
  settings: ImportSettings,
  { earlier, completeSince }: Begun,
  outcome: Outcome,
  json: true | undefined,
): Promise<void> {
  process.exitCode = EXIT.alreadyDone;
  const name = printable(settings.deliveryName ?? settings.path);
  tell(`${name}: this delivery of ${dateTime(completeSince ?? 0)} was complete before. Nothing was sent.`);
  if (json) return print(JSON.stringify({ earlier, open: outcome.open }));
  const { applied = 0, rejected = 0, canceled = 0 } = earlier;
  await print(
    table(["lines", "applied", "rejected", "canceled"], [[applied + rejected + canceled, applied, rejected, canceled]]),
  );
  await printOpen(outcome);
}

async function printOpen({ open, others }: Outcome): Promise<void> {
  if (others > 0)
    tell(
      `${plural(others, "entry", "entries")} of earlier imports ${others === 1 ? "needs" : "need"} your attention, too.`,
    );
  if (open.length === 0) return;
  await print("");
  const rows = open.map(({ key, state, error }) => [
    key,
    state,
    state === "unknown"
      ? `${reasonOf(error)} Check whether it was applied, then ${wording().decideOutcome(key)}.`
      : reasonOf(error) || "not stored any more (pruned)",
  ]);
  await print(table(["key", "state", "reason"], rows));
}
