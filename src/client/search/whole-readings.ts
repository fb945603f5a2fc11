import type { InventoryListParams } from "../../service/list-params.js";
import { PaginationError } from "../../shared/errors/index.js";
import { groupBy } from "../../shared/group-by.js";
import type { Lifetime } from "../../shared/time/abort.js";
import { monotonicNowMs } from "../../shared/time/clock.js";
import { SharedWork } from "../../shared/time/shared-work.js";
import { type ListDefinition, openReader } from "../lists/list.js";
import type { RequestOptions, ResponseInfo } from "../send/request-options.js";
import type { ClientRequester, Requester, RequestGroup } from "../send/requester.js";
import type { SortedList } from "./sorted-list.js";

export interface ListByPartNo {
  byPartNo: ReadonlyMap<number, unknown[]>;
  /** When the reading began, by the monotonic clock in ms. */
  startedAt: number;
}

interface WholeReading {
  readonly startedAt: number;
  readonly epoch: number;
  readonly work: SharedWork<ListByPartNo>;
  last: ResponseInfo | undefined;
}

export interface WholeReader {
  lifetime: Lifetime;
  /** The options of the requests, if this caller begins the reading. */
  options: RequestOptions;
  /** When its call began, by the monotonic clock. */
  startedAt: number;
  maxAgeMs: number;
  note(response: ResponseInfo): void;
}

/**
 * Shares readings of whole lists. A caller joins a reading if the call began before the reading did, or if the reading
 * is not older than `maxAgeMs`. After a write of this client, no caller joins.
 */
export class WholeReadings {
  readonly #readings = new Map<string, WholeReading>();

  constructor(private readonly requester: ClientRequester) {}

  async read(
    key: string,
    caller: WholeReader,
    run: (group: RequestGroup) => Promise<ListByPartNo>,
  ): Promise<ListByPartNo> {
    const found = this.#readings.get(key);
    const reading = found && this.#isJoinable(found, caller) ? found : this.#begin(key, caller, run);
    try {
      return await reading.work.wait(caller.lifetime);
    } finally {
      if (reading.last && !caller.lifetime.aborted) caller.note(reading.last);
    }
  }

  #isJoinable({ work, startedAt, epoch }: WholeReading, caller: WholeReader): boolean {
    if (work.isAborted || epoch !== this.requester.writes.epoch) return false;
    return startedAt >= caller.startedAt || monotonicNowMs() - startedAt <= caller.maxAgeMs;
  }

  #begin(key: string, { options }: WholeReader, run: (group: RequestGroup) => Promise<ListByPartNo>): WholeReading {
    const onResponse = (response: ResponseInfo) => {
      reading.last = response;
    };
    const reading: WholeReading = {
      startedAt: monotonicNowMs(),
      epoch: this.requester.writes.epoch,
      work: new SharedWork(({ signal }) =>
        this.requester.group({ ...options, signal, totalTimeoutMs: Infinity, onResponse }, run, true).finally(() => {
          if (this.#readings.get(key) === reading) this.#readings.delete(key);
        }),
      ),
      last: undefined,
    };
    this.#readings.set(key, reading);
    return reading;
  }
}

/**
 * Reads a whole list. If the list shows fewer records than the service counts, it is read again, and both readings must
 * show the same records: a client with a scope may always see fewer records.
 */
export async function readByPartNo<T>(
  requester: Requester,
  { keyOf, numberOf, label }: SortedList<T>,
  definition: ListDefinition<T, InventoryListParams>,
): Promise<ListByPartNo> {
  // Does not sort by part number, because a search may have refuted that order.
  const { stableSort, ...reading } = definition.reading(definition.params);
  const sort = stableSort === "partNo" ? undefined : stableSort;
  const everything = { ...definition, params: { ...definition.params, sort }, reading: () => reading };
  let before: Set<unknown> | undefined;
  const startedAt = monotonicNowMs();
  for (;;) {
    const records: T[] = [];
    const reader = openReader(requester, everything);
    for await (const { value } of reader.pages()) records.push(...value);
    const keys = new Set<unknown>(records.map(keyOf));
    if (reader.isComplete || (before && isSameSet(before, keys)))
      return { byPartNo: groupBy(records, numberOf), startedAt };
    if (before)
      throw new PaginationError(`${label}: two readings of a list that is short differ. Read it again later.`);
    before = keys;
  }
}

const isSameSet = (one: ReadonlySet<unknown>, other: ReadonlySet<unknown>) =>
  one.size === other.size && [...one].every((key) => other.has(key));
