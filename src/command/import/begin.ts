import type { DeliveryOutbox } from "../../outbox/delivery-outbox.js";
import type { NewDelivery, StoredDelivery } from "../../outbox/delivery-store.js";
import type { StoredEntry } from "../../outbox/index.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { CommandError } from "../exit.js";
import { dateTime, plural, printable, tell } from "../terminal.js";
import { correctionOf, decide, REPLACED, whyRefused } from "./delivery.js";
import { type ImportSettings, type ValidRow, validRows } from "./lines.js";

/** What earlier imports did with the lines of a file, by state. */
export type EarlierStates = StoredDelivery["entries"];

interface Begun {
  earlierStates: EarlierStates;
  /** Set if the delivery was complete before: then there is nothing to send. */
  complete?: StoredDelivery;
}

/**
 * Stores the lines of a validated file, all in one transaction, unless that was done before.
 *
 * @throws CommandError if nothing may be stored.
 */
export async function begin(
  outbox: DeliveryOutbox,
  settings: ImportSettings,
  delivery: NewDelivery | undefined,
): Promise<Begun> {
  if (!delivery) {
    const add = (await rowsOf(settings)).map(({ entry }) => entry);
    const { entries } = await outbox.commit({ add }).catch(rethrowKnownKey);
    return { earlierStates: statesOf(entries) };
  }
  for (;;) {
    const decision = decide(delivery, await outbox.deliveries(delivery), settings.corrects);
    switch (decision.kind) {
      case "refused":
        throw new CommandError(whyRefused(decision, delivery, settings.outboxFile));
      case "complete":
        return { earlierStates: {}, complete: decision.recorded };
      case "continue":
        tell(`${delivery.name}: continues the import of ${dateTime(decision.recorded.begunAt)}.`);
        return { earlierStates: decision.recorded.entries };
      case "begin":
      case "correct": {
        const recorded = decision.kind === "correct" ? decision.recorded : undefined;
        const begun = await storeDelivery(outbox, settings, delivery, recorded);
        // Otherwise another process was faster: what it has stored decides.
        if (begun) return begun;
      }
    }
  }
}

/**
 * Stores a delivery with its lines. Returns undefined if what is stored has changed since it was read: then nothing is
 * stored.
 *
 * @param recorded the version that it corrects
 */
async function storeDelivery(
  outbox: DeliveryOutbox,
  settings: ImportSettings,
  delivery: NewDelivery,
  recorded: StoredDelivery | undefined,
): Promise<Begun | undefined> {
  const rows = await rowsOf(settings);
  const lines = rows.map(({ entry }) => entry);
  const earlier: StoredEntry[] = [];
  if (recorded) for await (const entry of outbox.storedEntries({ delivery: recorded.name })) earlier.push(entry);
  const { takenElsewhere, kept, missingSent, toCancel, added } = correctionOf(earlier, lines);
  if (takenElsewhere.length > 0) throw linesTakenElsewhere(delivery.name, takenElsewhere);
  if (missingSent.length > 0) throw missingLines(delivery.name, missingSent);
  // A line may name a rejected entry of this same delivery in `stocklot:replaces`. `correctionOf` has already decided
  // about that one by its contents, so it is skipped here.
  const own = new Set(earlier.map(({ key }) => key));
  const replaced = await replacedEntries(outbox, rows, own);
  const batch = {
    add: added,
    cancel: [...toCancel, ...replaced.map((entry) => ({ ...entry, reason: REPLACED }))],
    delivery,
    correctsDigest: recorded?.digest,
  };
  const { deliveries, changed } = await outbox.commit(batch).catch(rethrowKnownKey);
  if (deliveries.length > 0 || changed.length > 0) return undefined;
  if (recorded) {
    const were = `${kept.length} unchanged, ${added.length} added, ${toCancel.length} canceled`;
    tell(`${delivery.name}: corrects the import of ${dateTime(recorded.begunAt)}: ${were}.`);
  }
  if (replaced.length > 0) tell(`${plural(replaced.length, "rejected line")} replaced.`);
  return { earlierStates: statesOf(kept) };
}

async function rowsOf(settings: ImportSettings): Promise<ValidRow[]> {
  const rows: ValidRow[] = [];
  for await (const row of validRows(settings)) rows.push(row);
  return rows;
}

/** The rejected entries of other deliveries that lines of the file replace. `own`: the keys of its delivery. */
async function replacedEntries(
  outbox: DeliveryOutbox,
  rows: readonly ValidRow[],
  own: ReadonlySet<string>,
): Promise<StoredEntry[]> {
  const replaced = new Map<string, StoredEntry>();
  const problems: string[] = [];
  for (const { line, replacesKey } of rows) {
    if (replacesKey === undefined || own.has(replacesKey) || replaced.has(replacesKey)) continue;
    const entry = await outbox.stored(replacesKey);
    if (entry?.state === "rejected") replaced.set(replacesKey, entry);
    else
      problems.push(
        `line ${line}: "${replacesKey}" ${entry ? `is ${entry.state}, not rejected` : "is not in the outbox"}`,
      );
  }
  if (problems.length === 0) return [...replaced.values()];
  const advice = "Nothing was stored or sent. Remove these lines, or import the latest file of rejected lines.";
  throw new CommandError(`${problems.map((problem) => printable(problem)).join("\n")}\n${advice}`);
}

/** Lines were validated before, so that only their keys can be refused. */
function rethrowKnownKey(error: unknown): never {
  if (!(error instanceof InputValidationError)) throw error;
  const problems = error.issues.map(({ message }) => message).join(" ");
  const advice = "Restore the line, or give the changed one a key of its own. Nothing was sent.";
  throw new CommandError(`${problems} ${advice}`);
}

function missingLines(name: string, missing: readonly StoredEntry[]): CommandError {
  const lines = missing.map(({ key, state, operation, input }) =>
    printable(`  ${key} ${state}: ${operation} ${input ?? ""}`),
  );
  // `outbox run` would find that out, too, but also send the lines that the correction cancels.
  const sending = missing.some(({ state }) => state === "sending")
    ? " A line that is sending may not have been applied: the import then finds that out, and resends it if it was not. " +
      "If it becomes unknown, decide about it, then correct the file again."
    : "";
  return new CommandError(
    `--corrects: the file lacks ${plural(missing.length, "line")} of "${name}" that were sent. Nothing was stored or sent. ` +
      `Add what is missing; what was applied can only be reversed by another write.${sending}\n${lines.join("\n")}`,
  );
}

function linesTakenElsewhere(name: string, taken: readonly StoredEntry[]): CommandError {
  const keys = taken.map(({ key }) => printable(`  ${key}`));
  return new CommandError(
    `--corrects: another import has replaced ${plural(taken.length, "line")} of "${name}", which this file may book ` +
      "again. Nothing was stored or sent. Import what is missing as a delivery of its own, with --delivery.\n" +
      keys.join("\n"),
  );
}

function statesOf(entries: readonly StoredEntry[]): EarlierStates {
  const states: EarlierStates = {};
  for (const { state } of entries) states[state] = (states[state] ?? 0) + 1;
  return states;
}
