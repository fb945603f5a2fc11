import type { InventoryClient } from "../../client.js";
import type { MarkField } from "../marks.js";
import type { OutboxStore } from "../store.js";
import type { Capacity } from "./capacity.js";
import type { EntryCommits } from "./commits.js";
import type { FailuresInARow } from "./failures.js";

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
  /** Aborted when nothing more is to be sent. */
  readonly stopped: AbortSignal;
  /** Counts requests for the report. */
  addRequests(count: number): void;
  /** Leaves a lane alone for the rest of the run. */
  setAside(lane: string): void;
  /** Ends the run with an error, once the requests in flight have ended. */
  fail(error: unknown): void;
}
