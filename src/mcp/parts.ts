import type { InventoryClient } from "../client/index.js";
import type { MirrorCopy } from "../mirror/index.js";
import type { SingleWrites } from "../outbox/for-rooms.js";
import type { Outbox } from "../outbox/index.js";

export const BOOKINGS = ["receive", "move", "issue"] as const;
export type Booking = (typeof BOOKINGS)[number];

/** The parts with which the server works. The command creates them. */
export interface ServerParts {
  /** The client, or the error with which tools that need a client fail. */
  client: InventoryClient | Error;
  /** Opens the copy; `undefined` without a copy. @throws ConfigurationError if the copy cannot be read. */
  copy: (() => Promise<MirrorCopy>) | undefined;
  outbox: Outbox | undefined;
  /** Books writes in the outbox, one by one. */
  writes: SingleWrites | undefined;
  operations: readonly Booking[];
  /** Whether a person is asked before a write. */
  confirms: boolean;
  /** Writes a plan to a file. Returns the path. */
  savePlan: ((json: string) => Promise<string>) | undefined;
  /** Commands for a person, ready to paste, without a password. */
  advice: { show(key: string): string; resolve(key: string, decision: string): string; apply(file: string): string };
  /** Receives errors that belong to no call, for the log. */
  onError(error: unknown): void;
  times: Times;
}

/** Times of the server, in ms. */
export const TIMES = {
  /** A wait of this length is reported as progress. */
  progressMs: 10_000,
  /** The time limit of a call that only reads. */
  limitMs: 60_000,
  /** How long an answer counts, and how long a write may be sent after the answer. */
  bookMs: 600_000,
  /** The time between two attempts to settle entries that are `sending`. */
  settleEveryMs: 2_000,
};
export type Times = typeof TIMES;

export function clientOf({ client }: ServerParts): InventoryClient {
  if (client instanceof Error) throw client;
  return client;
}
