import { fieldOf } from "../../errors/unknown-value.js";
import { isComplete } from "../../outbox/delivery-store.js";
import { entryOf, type OutboxEntry } from "../../outbox/entry.js";
import { laneOf } from "../../outbox/new-entries.js";
import { unsettledOf } from "../../outbox/store.js";
import { EXIT } from "../exit.js";
import { dateTime, fittedTable, print, seconds, table, tell } from "../terminal.js";
import type { Action } from "./action.js";
import { findDelivery } from "./change.js";
import { outboxCommandLine } from "./paste.js";

/** Counts the entries; fails if one needs a person, or waits for too long. */
export async function summarize({ outbox, file, flags }: Action): Promise<void> {
  const { maxAge = Number.POSITIVE_INFINITY, json } = flags;
  const summary = await outbox.summary();
  const { oldestUnsettledMs, ...states } = summary;
  const isTooOld = oldestUnsettledMs !== null && oldestUnsettledMs > maxAge;
  process.exitCode = summary.unknown > 0 || isTooOld ? EXIT.failure : EXIT.success;
  if (json) return print(JSON.stringify(summary));
  await print(table(["state", "entries"], Object.entries(states)));
  if (oldestUnsettledMs !== null) await print(`The oldest unsettled entry waits for ${seconds(oldestUnsettledMs)}.`);
  if (isTooOld) tell(`It waits for longer than ${seconds(maxAge)}.`);
  if (summary.unknown > 0)
    tell(`Decide about unknown entries: ${outboxCommandLine(file, "list", "--state", "unknown")}`);
}

const DEFAULT_LIMIT = 100;

export async function listEntries({ outbox, flags }: Action): Promise<void> {
  const { state, item, delivery, json, limit = json ? Number.POSITIVE_INFINITY : DEFAULT_LIMIT } = flags;
  if (delivery !== undefined) await findDelivery(outbox, delivery);
  const entries: OutboxEntry[] = [];
  let hasMore = false;
  for await (const stored of outbox.storedEntries({
    state,
    delivery,
    lane: item === undefined ? item : laneOf(item),
  })) {
    hasMore = entries.length === limit;
    if (hasMore) break;
    entries.push(entryOf(stored));
  }
  if (json) return print(JSON.stringify(entries));
  const rows = entries.map(({ key, state, operation, input, addedAt }) => [
    key,
    state,
    operation,
    itemOf(input),
    dateTime(addedAt),
  ]);
  if (rows.length > 0) await print(fittedTable(["key", "state", "operation", "item", "added"], rows));
  else tell("There are no such entries.");
  if (hasMore) tell(`Only the first ${limit} are shown. Set --limit to see more.`);
}

/** The SKU of the item that an entry changes; none is known once it was pruned. */
export const itemOf = (input: unknown) => String(fieldOf(input, "itemID") ?? fieldOf(input, "shortID") ?? "");

export async function listDeliveries({ outbox, flags }: Action): Promise<void> {
  const deliveries = await outbox.deliveries();
  if (flags.json)
    return print(JSON.stringify(deliveries.map((delivery) => ({ ...delivery, complete: isComplete(delivery) }))));
  if (deliveries.length === 0) return tell("No file was imported, except by --key alone.");
  const rows = deliveries.map((delivery) => {
    const { name, begunAt, lines, entries } = delivery;
    const { applied = 0, rejected = 0, canceled = 0 } = entries;
    const complete = isComplete(delivery) ? "yes" : `${unsettledOf(entries)} unsettled`;
    const begun = dateTime(begunAt).slice(0, 16).replace("T", " ");
    return [name, begun, lines, applied, rejected, canceled, complete];
  });
  const header = ["delivery", "begun (UTC)", "lines", "applied", "rejected", "canceled", "complete"];
  await print(fittedTable(header, rows));
}
