import { fieldOf } from "../../errors/unknown-value.js";
import type { Outbox, OutboxEntry, OutboxReport, StoredDelivery } from "../../outbox/index.js";
import { EXIT } from "../exit.js";
import { dateTime, print, table, tell } from "../terminal.js";
import type { ImportSettings } from "./entries.js";
import { validRows } from "./validate.js";

/** Entries that a person has to look at. */
interface OpenEntries {
  /** Of this file. */
  entries: OutboxEntry[];
  /** How many there are of other files. */
  others: number;
}

export async function openEntries(outbox: Outbox, settings: ImportSettings): Promise<OpenEntries> {
  const open = new Map<string, OutboxEntry>();
  for (const state of ["rejected", "unknown"] as const) {
    for await (const entry of outbox.entries({ state })) open.set(entry.key, entry);
  }
  const entries: OutboxEntry[] = [];
  if (open.size === 0) return { entries, others: 0 };
  for await (const { key } of validRows(settings)) {
    const entry = open.get(key);
    if (entry) entries.push(entry);
  }
  return { entries, others: open.size - entries.length };
}

/** What earlier imports did with the lines of a file. */
export interface EarlierImports {
  /** Lines that are not to be sent any more. */
  settled: number;
  applied: number;
  rejected: number;
  unknown: number;
}

/** What was done, then each line that a person has to look at. */
export async function report(
  summary: OutboxReport,
  earlier: EarlierImports,
  open: OpenEntries,
  json: true | undefined,
): Promise<void> {
  const { applied, rejected, unknown, pending, heldBack } = summary;
  process.exitCode = open.entries.length > 0 || pending > 0 || heldBack > 0 ? EXIT.failure : EXIT.success;
  if (json) return print(JSON.stringify({ ...summary, earlier, open: open.entries }));
  await print(
    table(
      ["", "applied", "rejected", "unknown", "pending", "held back"],
      [
        ["this run", applied, rejected, unknown, pending, heldBack],
        ...(earlier.settled > 0 ? [["earlier", earlier.applied, earlier.rejected, earlier.unknown, 0, 0]] : []),
      ],
    ),
  );
  await printOpenEntries(open);
}

/** A delivery that was complete before: what became of it. */
export async function reportComplete(
  delivery: StoredDelivery,
  open: OpenEntries,
  json: true | undefined,
): Promise<void> {
  const { name, begunAt, lines, entries } = delivery;
  process.exitCode = EXIT.alreadyDone;
  tell(`${name}: this delivery of ${dateTime(begunAt)} was complete before. Nothing was sent.`);
  if (json) return print(JSON.stringify({ delivery, open: open.entries }));
  const { applied = 0, rejected = 0, canceled = 0 } = entries;
  await print(table(["lines", "applied", "rejected", "canceled"], [[lines, applied, rejected, canceled]]));
  await printOpenEntries(open);
}

async function printOpenEntries({ entries, others }: OpenEntries): Promise<void> {
  if (others > 0)
    tell(
      `${others === 1 ? "1 entry of earlier imports needs" : `${others} entries of earlier imports need`} your attention, too.`,
    );
  if (entries.length === 0) return;
  await print("");
  await print(
    table(
      ["key", "state", "reason"],
      entries.map(({ key, state, error }) => [key, state, reasonOf(error)]),
    ),
  );
}

/** In one line: the message, and the service's messages about fields, without which a failed validation says nothing. */
function reasonOf(error: OutboxEntry["error"]): string {
  const details = Object.entries(Object(fieldOf(error, "details"))).map(
    ([field, found]) => `${field}: ${[found].flat().join(" ")}`,
  );
  return [fieldOf(error, "message") ?? "", ...details].join(" ").replace(/\s+/g, " ");
}
