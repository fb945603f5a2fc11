/** What a slot is for. `bulk`: a further page of an iteration, or a write of an outbox; these may not use the reserved slots. */
export type SlotKind = "single" | "bulk";

/** Numbers of slots, or of the calls that wait for them. */
export type SlotCounts = Record<SlotKind, number>;

/** The slots, or calls, of both kinds. */
export const totalCountOf = ({ single, bulk }: SlotCounts): number => single + bulk;

/** The right to send one request. */
export interface Slot {
  /** The request has ended, in whatever way; its slot is free again one interval later. */
  endSent(): void;
  /** Nothing was sent; the slot is free again immediately. */
  endUnsent(): void;
  /** Whether others may have the slot by now, because this process stood still: nothing may be sent with it any more. */
  hasExpired?(): boolean;
}

/** Where the slots of a limiter come from: the quota of this process, or one that several processes share. */
export interface SlotSource {
  /** Takes a slot if one is free, as far as is known. */
  take(kind: SlotKind): Slot | undefined;
  /** Free slots, as far as is known. */
  readonly available: number;
  /** The earliest time at which a request behind others can have a slot, as far as is known. */
  earliestStart(kind: SlotKind, ahead: SlotCounts): number;
  /**
   * Sets how many waiting calls could start if there were slots for them. The source notifies its listener when another
   * attempt may succeed. No call waits if both counts are 0.
   */
  setWanted(wanted: SlotCounts): void;
  /** A pause has begun here. */
  pauseStarted?(pauseMs: number): void;
}

/** Receives the changes of a source. */
export interface SlotListener {
  /** There may be free slots. */
  slotsChanged(): void;
  /** Another process that shares the slots has begun a pause. */
  pausedElsewhere(pauseMs: number): void;
  /** No slot is free before this time has passed. */
  slotsDelayed(delayMs: number): void;
  /** One slot that was requested will not be granted: the call of this kind that would wait longest fails. */
  slotRefused(kind: SlotKind, error: unknown): void;
  /** No slot will be granted to the calls that wait now. */
  slotsFailed(error: unknown): void;
}
