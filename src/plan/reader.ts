import { dateHeaderMs } from "../client/for-add-ons.js";
import type { InventoryClient, Paginator, RequestOptions, ResponseInfo } from "../client/index.js";
import { abortSignalSchema, functionSchemaOf, inventoryClientSchema } from "../shared/option.js";
import { callSafely } from "../shared/time/callback.js";

/** What reads, and with which options. */
export type ReadWith = Pick<PlanReader, "client" | "options">;

/** Reads what a plan concerns as it is now. Requests are counted, and the service's clock is observed. */
export class PlanReader {
  readonly client: InventoryClient;
  readonly options: RequestOptions;
  requests = 0;
  /** The service's clock at the first response, in ms since the epoch; `undefined` if responses have no `Date` header. */
  firstDate: number | undefined;
  /** By how many ms the service's clock is ahead. */
  clockAheadMs: number | undefined;

  constructor(client: InventoryClient, signal: AbortSignal | null | undefined) {
    this.client = client;
    this.options = {
      signal,
      priority: "low",
      totalTimeoutMs: Infinity,
      onResponse: (response) => this.#observe(response),
    };
  }

  /** The same with further options for its requests. */
  with(more: RequestOptions): ReadWith {
    return { client: this.client, options: { ...this.options, ...more } };
  }

  #observe({ attempts, headers }: ResponseInfo): void {
    this.requests += attempts;
    const date = dateHeaderMs(headers);
    if (date === undefined) return;
    this.firstDate ??= date;
    this.clockAheadMs ??= date - Date.now();
  }
}

/** The progress of reading a list. */
export interface ReadProgress {
  /** Records read so far. */
  received: number;
  /** Records in the list, as the service counted last. */
  totalCount: number;
}

/** The records of a list, which reports its progress after each page. */
export async function* recordsOf<T>(
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

/** The options that everything has that reads the service before a plan. */
export const readingOptions = () => ({
  client: inventoryClientSchema(),
  signal: abortSignalSchema().optional(),
  onProgress: functionSchemaOf<(progress: ReadProgress) => void>().optional(),
});
