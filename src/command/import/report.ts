import { fieldOf } from "../../errors/unknown-value.js";
import type { Outbox, OutboxEntry, OutboxReport } from "../../outbox/index.js";
import { EXIT } from "../exit.js";
import { print, table, tell } from "../terminal.js";
import type { ImportSettings } from "./entries.js";
import { validRows } from "./validate.js";

/** Entries that a person has to look at. */
interface OpenEntries {
  /** Of this file. */
  entries: OutboxEntry[];
  /** How many there are of other files. */
  others: number;
}

export async function openEntries(outbox: Outbox, settings: ImportSettings, delimiter: string): Promise<OpenEntries> {
  const open = new Map<string, OutboxEntry>();
  for (const state of ["rejected", "unknown"] as const) {
    for await (const entry of outbox.entries({ state })) open.set(entry.key, entry);
  }
  const entries: OutboxEntry[] = [];
  if (open.size === 0) return { entries, others: 0 };
  for await (const { key } of validRows(settings, delimiter)) {
    const entry = open.get(key);
    if (entry) entries.push(entry);
  }
  return { entries, others: open.size - entries.length };
}

/** What was done, then each line that a person has to look at. */
export async function report(summary: OutboxReport, open: OpenEntries, json: true | undefined): Promise<void> {
  const { applied, rejected, unknown, pending, heldBack } = summary;
  const { entries, others } = open;
  process.exitCode = entries.length > 0 || pending > 0 || heldBack > 0 ? EXIT.failure : EXIT.success;
  if (others > 0)
    tell(
      `${others === 1 ? "1 entry of earlier imports needs" : `${others} entries of earlier imports need`} your attention, too.`,
    );
  if (json) return print(JSON.stringify({ ...summary, open: entries }));
  await print(
    table(
      ["applied", "rejected", "unknown", "pending", "held back"],
      [[applied, rejected, unknown, pending, heldBack]],
    ),
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
