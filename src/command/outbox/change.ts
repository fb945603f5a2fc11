import type { DeliveryOutbox } from "../../outbox/delivery-outbox.js";
import type { StoredDelivery } from "../../outbox/delivery-store.js";
import type { Outbox, OutboxReport, StoredEntry } from "../../outbox/index.js";
import { whyNotCanceled } from "../../outbox/store.js";
import { nearestNameHint } from "../../shared/unknown-name.js";
import { CommandError, EXIT } from "../exit.js";
import { outboxCommandLine } from "../shell.js";
import { plural, print, printable, seconds, table, tell, withProgress } from "../terminal.js";
import type { Action } from "./action.js";

/** Records the decision of a person. */
export async function resolveEntry({ outbox, file, words: [key = "", decision] }: Action): Promise<void> {
  if (decision !== "applied" && decision !== "not-applied")
    throw new CommandError(`the decision must be applied or not-applied, not ${printable(decision)}.`);
  await findEntry(outbox, file, key);
  const { state } = await outbox.resolve(key, decision);
  await print(`${printable(key)} is ${state}${state === "pending" ? " now: the next run sends it." : "."}`);
}

/** Drops entries, all of them or none. */
export async function cancelEntries({ outbox, file, words }: Action): Promise<void> {
  const keys = [...new Set(words)];
  if (keys.length === 0) throw new CommandError("Name keys, or a delivery with --delivery.");
  const entries: StoredEntry[] = [];
  for (const key of keys) entries.push(await findEntry(outbox, file, key));
  const problems = entries.flatMap((entry) => {
    const problem = whyNotCanceled(entry);
    return problem === undefined ? [] : [`"${printable(entry.key)}" ${problem}.`];
  });
  if (problems.length === 0) {
    const { changed } = await outbox.commit({ add: [], cancel: entries });
    problems.push(...changed.map(({ key }) => `"${printable(key)}" was changed at the same time.`));
  }
  if (problems.length > 0) throw new CommandError(`${problems.join("\n")}\nNothing was canceled.`);
  await print(`${plural(keys.length, "entry", "entries")} canceled.`);
}

/** Entries that are canceled in one transaction. */
const BATCH = 500;

/** Drops what was not applied of a delivery. A run may send lines meanwhile. */
export async function cancelDelivery({ outbox, file, words, flags: { delivery = "" }, signal }: Action): Promise<void> {
  if (words.length > 0) throw new CommandError("Name keys, or a delivery with --delivery, not both.");
  await findDelivery(outbox, delivery);
  const cancelable: StoredEntry[] = [];
  for await (const entry of outbox.storedEntries({ delivery }))
    if (entry.state !== "canceled" && whyNotCanceled(entry) === undefined) cancelable.push(entry);
  let canceled = 0;
  for (let from = 0; from < cancelable.length; from += BATCH) {
    let batch = cancelable.slice(from, from + BATCH);
    for (;;) {
      signal.throwIfAborted();
      const changed = new Set((await outbox.commit({ add: [], cancel: batch })).changed.map(({ key }) => key));
      if (changed.size === 0) break;
      // These are being sent.
      batch = batch.filter(({ key }) => !changed.has(key));
    }
    canceled += batch.length;
  }
  await print(`${plural(canceled, "entry", "entries")} canceled.`);
  const { entries } = await findDelivery(outbox, delivery);
  const { applied = 0, sending = 0, unknown = 0, pending = 0 } = entries;
  const sent = applied + sending + unknown + pending;
  if (sent === 0) return;
  process.exitCode = EXIT.failure;
  tell(
    `${plural(sent, "entry", "entries")} of it cannot be canceled: ${applied} applied, ${unknown} unknown, ` +
      `${sending + pending} under way. See ${outboxCommandLine(file, "list", "--delivery", delivery)}`,
  );
}

export async function pruneEntries({ outbox, flags: { olderThan } }: Action): Promise<void> {
  if (olderThan === undefined) throw new CommandError("Set --older-than, for instance --older-than 90d.");
  const pruned = await outbox.prune({ olderThanMs: olderThan });
  await print(`The contents of ${plural(pruned, "entry", "entries")} removed; the keys stay.`);
}

/** @throws CommandError if there is none. */
export async function findEntry(outbox: DeliveryOutbox, file: string, key: string): Promise<StoredEntry> {
  const entry = await outbox.stored(key);
  if (entry) return entry;
  const advice = `${outboxCommandLine(file, "list")} lists them.`;
  throw new CommandError(`there is no entry "${printable(key)}". ${advice}`);
}

/** @throws CommandError if there is none. */
export async function findDelivery(outbox: DeliveryOutbox, name: string): Promise<StoredDelivery> {
  const deliveries = await outbox.deliveries();
  const delivery = deliveries.find((other) => other.name === name);
  if (delivery) return delivery;
  const hint = nearestNameHint(
    name,
    deliveries.map((other) => other.name),
  );
  throw new CommandError(printable(`there is no delivery "${name}"${hint || "."}`));
}

/** Sends what is pending, and shows the progress. */
export function runOutbox(outbox: Outbox, signal: AbortSignal): Promise<OutboxReport> {
  return withProgress((progress) => {
    signal.addEventListener("abort", () => {
      progress.clear();
      tell("Waiting for requests under way; Ctrl-C again ends at once.");
    });
    return outbox.run({
      signal,
      onProgress: ({ applied, rejected, unknown, pending, etaMs }) =>
        progress.update(
          `${applied} applied, ${rejected} rejected, ${unknown} unknown, ${pending} pending, ${seconds(etaMs)} left`,
        ),
    });
  });
}

/** The action `run`: for instance after a decision about an unknown entry. */
export async function runAndReport({ outbox, file, flags, signal }: Action): Promise<void> {
  const report = await runOutbox(outbox, signal);
  const { applied, rejected, unknown, pending, heldBack, requests, durationMs } = report;
  process.exitCode = rejected + unknown + pending + heldBack > 0 ? EXIT.failure : EXIT.success;
  if (flags.json) return print(JSON.stringify(report));
  const row = [applied, rejected, unknown, pending, heldBack];
  await print(table(["applied", "rejected", "unknown", "pending", "held back"], [row]));
  await print(`${plural(requests, "request")}, ${seconds(durationMs)}`);
  for (const [state, count] of Object.entries({ rejected, unknown }))
    if (count > 0) tell(`What is ${state}: ${outboxCommandLine(file, "list", "--state", state)}`);
}
