import type { InventoryClient } from "../../client/index.js";
import { ApiError } from "../../shared/errors/index.js";
import type { MarkField } from "../marks.js";
import type { OutboxStore, StoredEntry } from "../store.js";
import type { EntryCommits } from "./commits.js";

/** Options of all requests of a run: other calls take precedence, and waiting for them is no failure. */
export const BACKGROUND = { priority: "low", totalTimeoutMs: Infinity } as const;

/** The outbox, as far as a run needs it. */
export interface RunSettings {
  readonly client: InventoryClient;
  readonly store: OutboxStore;
  readonly storeId: string;
  readonly mark: MarkField | undefined;
  readonly settleMs: number;
  readonly leaseMs: number;
  /** Aborted when the outbox is closed. */
  readonly closed: AbortSignal;
}

/** What the steps of a run share. */
export interface RunContext {
  readonly settings: RunSettings;
  readonly commits: EntryCommits;
  readonly capacity: Capacity;
  readonly failures: FailuresInARow;
  /** Counts requests for the report. */
  addRequests(count: number): void;
  /** Leaves a lane alone for the rest of the run. */
  setAside(lane: string): void;
  /** Whether this run may send the entry. Otherwise its lane is set aside. */
  maySend(key: string): boolean;
  /** Ends the run with an error, once the requests in flight have ended. */
  fail(error: unknown): void;
}

/** Limits the number of lanes that are worked on at the same time. Those that only wait do not count. */
export class Capacity {
  #free: number;
  /** Lanes that wait for a place. */
  readonly #waiters: (() => void)[] = [];
  readonly #onFree: () => void;
  /** How many lanes have released their place while they wait for something else. */
  waiting = 0;

  /** @param onFree called when a place is free */
  constructor(places: number, onFree: () => void) {
    this.#free = places;
    this.#onFree = onFree;
  }

  get free(): number {
    return this.#free;
  }

  /** Waits for a place. */
  async take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  giveBack(): void {
    const next = this.#waiters.shift();
    if (next) {
      next();
    } else {
      this.#free += 1;
      this.#onFree();
    }
  }

  /** Releases the place of a lane while it waits, then takes one again. */
  async whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    this.waiting += 1;
    this.giveBack();
    try {
      return await wait();
    } finally {
      this.waiting -= 1;
      await this.take();
    }
  }
}

/** After this many items in a row whose entries fail with the same status, the reason is most likely not in the entries. */
const MAX_FAILED_ITEMS = 5;

/** Notices that entry after entry fails in the same way. */
export class FailuresInARow {
  readonly #fail: (error: unknown) => void;
  readonly #lanes = new Set<string>();
  #status: number | undefined;

  /** @param fail ends the run with the error; a second call changes nothing */
  constructor(fail: (error: unknown) => void) {
    this.#fail = fail;
  }

  /** An entry has failed with this error. `undefined` ends the row: its call has ended in any other way. */
  record({ key, lane }: StoredEntry, error: unknown): void {
    const status = error instanceof ApiError ? error.status : undefined;
    if (status !== this.#status) this.#lanes.clear();
    this.#status = status;
    if (!(error instanceof ApiError)) return;
    this.#lanes.add(lane);
    if (this.#lanes.size !== MAX_FAILED_ITEMS) return;
    error.message = `${error.message.replace(/\.?$/, ".")} It failed for ${MAX_FAILED_ITEMS} items in a row, last for the entry "${key}".`;
    this.#fail(error);
  }
}
