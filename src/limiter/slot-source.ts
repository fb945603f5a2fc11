/** How many calls are waiting: all of them, and how many of these are further pages of an iteration. */
export interface QueueCounts {
  all: number;
  pages: number;
}

/** A slot that was taken from its source. */
export interface GrantedSlot {
  /** Its request has ended: the slot comes back one interval later. */
  release(): void;
  /** It was not used: it comes back at once. */
  returnUnused(): void;
}

/** Where the slots of a limiter come from: the books of this process, or books that several processes share. */
export interface SlotSource {
  /** Takes a slot that is at hand. */
  take(bulk: boolean): GrantedSlot | undefined;
  /** Slots that are at hand, as far as is known. */
  readonly available: number;
  /** The earliest time at which a request behind others can have a slot, as far as is known. */
  earliestStart(bulk: boolean, ahead: QueueCounts): number;
  /**
   * So many calls could start if there were slots for them: the source calls its listener when it is worth trying again.
   * Nobody waits when `all` is 0.
   */
  setDemand(waiting: QueueCounts): void;
  /** A pause has begun here. */
  pauseStarted(delayMs: number): void;
}

/** Whom a source tells that something has changed. */
export interface SlotListener {
  /** There may be slots at hand. */
  slotsChanged(): void;
  /** The others who share the slots pause: so do we. */
  pausedElsewhere(delayMs: number): void;
  /** No slot comes before this time is over. */
  slotsDelayed(delayMs: number): void;
  /** One slot less will come: the call that would wait longest for it fails, a page only if `bulk`. */
  slotRefused(bulk: boolean, error: unknown): void;
  /** There will be no slots for those who wait now. */
  slotsFailed(error: unknown): void;
}
