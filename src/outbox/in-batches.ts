import type { OutboxStore, StoredEntry } from "./store.js";

const ENTRIES_PER_BATCH = 500;

/** A part of a list of entries. */
export type ListPage = Pick<Parameters<OutboxStore["list"]>[0], "after" | "limit">;

/** The entries of a list, which is read in batches. */
export async function* inBatches(list: (page: ListPage) => Promise<StoredEntry[]>): AsyncGenerator<StoredEntry> {
  for (let after = 0; ; ) {
    const batch = await list({ after, limit: ENTRIES_PER_BATCH });
    for (const stored of batch) {
      after = stored.sequence;
      yield stored;
    }
    if (batch.length < ENTRIES_PER_BATCH) return;
  }
}
