import * as z from "zod";
import type { InventoryClient } from "../client/index.js";
import type { MirrorCopy } from "../mirror/index.js";
import type { Outbox } from "../outbox/for-rooms.js";

/** The writes that an assistant may book. */
export const BOOKINGS = ["receive", "move", "issue"] as const;
export type Booking = (typeof BOOKINGS)[number];

/** What the server works with. The command creates it. */
export interface Room {
  /** @throws ConfigurationError that says what is missing. */
  client(): InventoryClient;
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
  /** What concerns no call, for the log. */
  onError(error: unknown): void;
  times?: Partial<Times>;
}

/** In ms. */
export interface Times {
  /** A wait of this length is reported. */
  progressMs: number;
  /** A call that reads ends after this. */
  limitMs: number;
  /** An answer counts, and a write is sent, within this. */
  bookMs: number;
  /** Between two looks at what is `sending`. */
  settleEveryMs: number;
}

export const TIMES: Times = { progressMs: 10_000, limitMs: 60_000, bookMs: 600_000, settleEveryMs: 2_000 };

/** Fields that the service may add pass through. */
export const record = (shape: z.ZodRawShape) => z.looseObject(shape);

export const keySchema = z.string().min(1).max(200);

export const STATES = ["pending", "sending", "applied", "rejected", "unknown", "canceled"] as const;

export const entrySchema = record({
  ...{ key: z.string(), operation: z.string(), state: z.enum(STATES) },
  ...{ addedAt: z.string(), attempts: z.int(), next: z.string().describe("what to do next") },
});
