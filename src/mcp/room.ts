import type { InventoryClient } from "../client/index.js";
import type { MirrorCopy } from "../mirror/index.js";
import type { Outbox } from "../outbox/index.js";

/** The writes that an assistant may book. */
export const BOOKINGS = ["receive", "move", "issue"] as const;
export type Booking = (typeof BOOKINGS)[number];

/** Everything that the server works with. The command creates it. */
export interface Room {
  /** The client, or why there is none: the tools that need it fail with this error. */
  client: InventoryClient | Error;
  /** Opens the copy, if there is one. @throws ConfigurationError if it cannot be read. */
  copy: (() => Promise<MirrorCopy>) | undefined;
  outbox: Outbox | undefined;
  operations: readonly Booking[];
  /** Whether a person is asked before a write. */
  confirms: boolean;
  /** Writes a plan; returns its file. */
  savePlan: ((json: string) => Promise<string>) | undefined;
  /** Commands for a person, ready to paste, without a password. */
  advice: { show(key: string): string; resolve(key: string, decision: string): string; apply(file: string): string };
  /** Receives errors that belong to no call, for the log. */
  onError(error: unknown): void;
  times: Times;
}

/** Times of the server, in ms. */
export const TIMES = {
  /** A wait of this length is reported. */
  progressMs: 10_000,
  /** A call that reads ends after this. */
  limitMs: 60_000,
  /** An answer counts, and a write is sent, within this. */
  bookMs: 600_000,
  /** Between two looks at what is `sending`. */
  settleEveryMs: 2_000,
};
export type Times = typeof TIMES;

export function clientOf({ client }: Room): InventoryClient {
  if (client instanceof Error) throw client;
  return client;
}
