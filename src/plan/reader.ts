import type { InventoryClient, Paginator } from "../client/index.js";
import { abortSignalSchema, functionSchema, inventoryClientSchema } from "../shared/option.js";
import { callSafely } from "../shared/time/callback.js";

/** The progress of reading a list. */
export interface ReadProgress {
  /** Records read so far. */
  received: number;
  /** Records in the list, as the service counted last. */
  totalCount: number;
}

/** Returns the records of a list, and reports the progress after each page. */
export async function* recordsWithProgress<T>(
  list: Paginator<T>,
  onProgress?: (progress: ReadProgress) => void,
): AsyncGenerator<T, void> {
  let received = 0;
  for await (const { value, totalCount } of list.pages()) {
    received += value.length;
    callSafely(() => onProgress?.({ received, totalCount }));
    yield* value;
  }
}

export const commonOptions = () => ({
  client: inventoryClientSchema<InventoryClient>(),
  signal: abortSignalSchema().optional(),
  onProgress: functionSchema().optional(),
});
