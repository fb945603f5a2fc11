import { type BatchResult, type DeliveryStore, isInTheWay, type NewLine, type OutboxBatch } from "../delivery-store.js";
import type { StoredEntry } from "../store.js";
import { deliveryOfRow, entryOfRow, isOtherInput, rowOfEntry } from "./entry-row.js";
import { execute, type Operation } from "./operation.js";

/** Entries that one command adds or reads. */
const ENTRIES_PER_COMMAND = 500;

/** What is prevented changes nothing: everything is verified, and locked, before the first change. */
export function* commitBatch(batch: OutboxBatch): Operation<BatchResult> {
  const { add, cancel = [], delivery } = batch;
  const result: BatchResult = { deliveries: [], changed: [], entries: [] };
  if (delivery) {
    yield* execute("lockDeliveries");
    const like = (yield* deliveriesLike(delivery)).map(deliveryOfRow);
    result.deliveries = like.filter((other) =>
      other.name === delivery.name ? other.digest !== batch.correctsDigest : isInTheWay(other, delivery),
    );
  }
  const asRead = new Map(cancel.map((entry) => [entry.key, entry]));
  const stored = (yield* execute("lockEntries", [[...asRead.keys()]])).map(entryOfRow);
  result.changed = stored.filter(({ key, state, attempts }) => {
    const read = asRead.get(key);
    return read?.state !== state || read.attempts !== attempts;
  });
  if (result.deliveries.length > 0 || result.changed.length > 0) return result;
  result.entries = yield* addEntries(add);
  if (isOtherInput(add, result.entries)) return result;
  for (const reason of new Set(cancel.map((entry) => entry.reason))) {
    const keys = cancel.filter((entry) => entry.reason === reason).map(({ key }) => key);
    yield* execute("cancel", [keys, Date.now(), reason ?? null]);
  }
  if (delivery) {
    const { name, file, digest, lines, begunAt } = delivery;
    yield* execute("recordDelivery", [name, file, digest, lines, begunAt]);
  }
  return result;
}

/** The rows of deliveries, see `DeliveryStore.deliveries`. */
export const deliveriesLike = (filter: Parameters<DeliveryStore["deliveries"]>[0]) =>
  execute("deliveries", [filter?.name ?? null, filter?.file ?? null, filter?.digest ?? null]);

/** Adds all entries or none. In either case, the transaction can continue. */
export function* addEntries(added: readonly NewLine[]): Operation<StoredEntry[]> {
  const slices = Array.from({ length: Math.ceil(added.length / ENTRIES_PER_COMMAND) }, (_, index) =>
    added.slice(index * ENTRIES_PER_COMMAND, (index + 1) * ENTRIES_PER_COMMAND),
  );
  const storedEntries = function* (): Operation<StoredEntry[]> {
    const stored: StoredEntry[] = [];
    for (const keys of slices.map((slice) => slice.map(({ key }) => key))) {
      const found = new Map((yield* execute("get", [keys])).map(entryOfRow).map((entry) => [entry.key, entry]));
      stored.push(...keys.flatMap((key) => found.get(key) ?? []));
    }
    return stored;
  };
  yield* execute("beginAdd");
  try {
    for (const slice of slices) yield* execute("insert", [JSON.stringify(slice.map(rowOfEntry))]);
    const stored = yield* storedEntries();
    if (!isOtherInput(added, stored)) return stored;
  } catch (error) {
    try {
      yield* execute("undoAdd");
    } catch {
      // The first error is the reason.
    }
    throw error;
  }
  yield* execute("undoAdd");
  return yield* storedEntries();
}
