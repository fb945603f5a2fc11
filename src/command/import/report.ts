import { access, constants, open, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { stringify } from "csv-stringify/sync";
import type { DeliveryOutbox } from "../../outbox/delivery-outbox.js";
import type { StoredDelivery } from "../../outbox/delivery-store.js";
import { entryOf } from "../../outbox/entry.js";
import type { OutboxEntry, OutboxReport, OutboxState, StoredEntry } from "../../outbox/index.js";
import { groupBy } from "../../plan/group-by.js";
import { wording } from "../../shared/errors/wording.js";
import { isFileMissingError } from "../../storage/storage-failure.js";
import { CommandError, EXIT } from "../exit.js";
import { QUOTED_CELLS } from "../export/record-format.js";
import { replaceFile } from "../files.js";
import { reasonOf } from "../outbox/action.js";
import { fileRows } from "../rows/file-rows.js";
import { dateTime, plural, print, table, tell } from "../terminal.js";
import type { EarlierStates } from "./begin.js";
import { type ImportSettings, REJECT_COLUMNS, type ValidRow, validRows } from "./lines.js";

/** A line that a person has to look at, with its entry. */
interface OpenLine {
  row: ValidRow;
  entry: OutboxEntry;
}

/** What an import has left to do. */
interface OpenEntries {
  /** Lines of this file that a person has to look at. */
  lines: OpenLine[];
  /** Whether a line of this file is still to be sent. */
  isWaiting: boolean;
  /** How many entries of other files a person has to look at. */
  others: number;
}

const STATES_FOR_A_PERSON: readonly OutboxState[] = ["rejected", "unknown"];

/** The lines of a delivery are recognised by their contents, since a corrected version has other numbers; others by their keys. */
export async function openEntries(outbox: DeliveryOutbox, settings: ImportSettings): Promise<OpenEntries> {
  const { deliveryName: delivery } = settings;
  let all = 0;
  // Without the pruned ones: those are done with.
  for (const state of STATES_FOR_A_PERSON) for await (const _ of outbox.storedEntries({ state })) all += 1;
  const entries: StoredEntry[] = [];
  for (const state of [...STATES_FOR_A_PERSON, "pending", "sending"] as const) {
    for await (const entry of outbox.storedEntries({ state, delivery })) {
      // Without a delivery, a file may contain lines of long ago for ever: those that were pruned are done with.
      if (entry.input !== null || delivery !== undefined) entries.push(entry);
    }
  }
  const idOf = ({ key, inputHash }: Pick<StoredEntry, "key" | "inputHash">) =>
    delivery === undefined ? key : inputHash;
  const open = groupBy(entries, idOf);
  for (const equal of open.values()) equal.reverse();
  const found: OpenLine[] = [];
  if (entries.length > 0)
    for await (const row of validRows(settings)) {
      const entry = open.get(idOf(row.entry))?.pop();
      if (entry) found.push({ row, entry: entryOf(entry) });
    }
  const lines = found.filter(({ entry }) => STATES_FOR_A_PERSON.includes(entry.state));
  const own = lines.filter(({ entry }) => entry.input !== undefined);
  return { lines, isWaiting: found.length > lines.length, others: all - own.length };
}

/** What was done, then each line that a person has to look at. */
export async function report(
  summary: OutboxReport,
  earlier: EarlierStates,
  open: OpenEntries,
  json: true | undefined,
): Promise<void> {
  const { applied, rejected, unknown, pending, heldBack } = summary;
  process.exitCode = open.lines.length > 0 || open.isWaiting ? EXIT.failure : EXIT.success;
  const before = {
    applied: earlier.applied ?? 0,
    rejected: earlier.rejected ?? 0,
    unknown: earlier.unknown ?? 0,
  };
  if (json) {
    return print(JSON.stringify({ ...summary, earlier: before, open: open.lines.map(({ entry }) => entry) }));
  }
  await print(
    table(
      ["", "applied", "rejected", "in outbox: unknown", "pending", "held back"],
      [
        ["this run", applied, rejected, unknown, pending, heldBack],
        ...(before.applied + before.rejected > 0 ? [["earlier", before.applied, before.rejected, "", "", ""]] : []),
      ],
    ),
  );
  await printOpenEntries(open);
}

/** How many lines are not sent any more, unless a person decides. */
export const endedCount = ({ applied = 0, rejected = 0, unknown = 0 }: EarlierStates) => applied + rejected + unknown;

/** A delivery that was complete before: what became of it. */
export async function reportComplete(
  delivery: StoredDelivery,
  open: OpenEntries,
  json: true | undefined,
): Promise<void> {
  const { name, begunAt, lines, entries } = delivery;
  process.exitCode = EXIT.alreadyDone;
  tell(`${name}: this delivery of ${dateTime(begunAt)} was complete before. Nothing was sent.`);
  if (json) return print(JSON.stringify({ delivery, open: open.lines.map(({ entry }) => entry) }));
  const { applied = 0, rejected = 0, canceled = 0 } = entries;
  await print(table(["lines", "applied", "rejected", "canceled"], [[lines, applied, rejected, canceled]]));
  await printOpenEntries(open);
}

async function printOpenEntries({ lines, others }: OpenEntries): Promise<void> {
  if (others > 0)
    tell(
      `${others === 1 ? "1 entry of earlier imports needs" : `${others} entries of earlier imports need`} your attention, too.`,
    );
  if (lines.length === 0) return;
  await print("");
  await print(
    table(
      ["key", "state", "reason"],
      lines.map(({ entry: { key, state, error } }) => [
        key,
        state,
        state === "unknown"
          ? `${reasonOf(error)} Check whether it was applied, then ${wording().decideOutcome(key)}.`
          : reasonOf(error) || "not stored any more (pruned)",
      ]),
    ),
  );
}

/** Before anything is sent: the file can be written, and is not the one that is imported. */
export async function assertWritable(path: string, imported: string): Promise<void> {
  // It is not created yet: perhaps nothing is imported.
  const file = await open(path, "r+").catch((error: unknown) => {
    if (!isFileMissingError(error)) throw error;
  });
  await (file ? file.close() : access(dirname(path), constants.W_OK));
  if (file && (await realpath(path)) === (await realpath(imported).catch(() => undefined)))
    throw new CommandError(`--rejects: ${path} is the file to import. Choose another one.`);
}

/**
 * Writes the rejected lines as they were imported, each with the reason and the key of its entry. An import of the corrected
 * file, as a delivery of its own, replaces these entries.
 */
export async function writeRejects(path: string, settings: ImportSettings, lines: readonly OpenLine[]): Promise<void> {
  const { format, delimiter } = settings;
  const rejected = lines.filter(({ entry }) => entry.state === "rejected");
  const rows = rejected.map(({ row, entry }) => ({
    ...row.cells,
    [REJECT_COLUMNS.reason]: reasonOf(entry.error),
    [REJECT_COLUMNS.replaces]: entry.key,
  }));
  const columns = new Set([...(await columnsOf(settings)), ...Object.values(REJECT_COLUMNS)]);
  const text =
    format === "ndjson"
      ? rows.map((row) => `${JSON.stringify(row)}\n`).join("")
      : stringify(rows, { columns: [...columns], delimiter, header: true, quoted_match: QUOTED_CELLS });
  await assertNothingLost(path, text);
  replaceFile(path, text);
  tell(`${plural(rejected.length, "rejected line")} written to ${path}.`);
}

/** A person may have begun to correct the file. */
async function assertNothingLost(path: string, text: string): Promise<void> {
  const stats = await stat(path).catch(() => undefined);
  if (!stats?.isFile()) return;
  const lines = new Set(text.split("\n"));
  const present = await readFile(path, "utf8");
  if (present.split("\n").every((line) => lines.has(line))) return;
  throw new CommandError(
    `--rejects: ${path} has lines that this import would not write again, so it was left as it is. ` +
      "Everything else is done. Run the same command again with another file for the rejected lines.",
    EXIT.failure,
  );
}

async function columnsOf(settings: ImportSettings): Promise<string[]> {
  for await (const { cells } of fileRows(settings)) return Object.keys(cells);
  return [];
}
