/**
 * A number of slots, each of which comes back one interval after its request has ended. The service counts a request at
 * some moment between its start and its end, so no interval ever holds more requests than there are slots, whatever
 * kind of window the service uses.
 */
export interface Quota {
  readonly free: number;
  /** When the next slot comes back, or `undefined` while all are in use by requests under way. */
  readonly nextReturnAt: number | undefined;
  take(): void;
  /** Gives back a slot that was not used. */
  returnUnused(): void;
  /** The request of a slot has ended; the slot comes back at a time that is no earlier than that of any before it. */
  returnAt(time: number): void;
  /** Takes back what has come due. */
  reclaim(now: number): void;
  /** The earliest time at which a request with so many others ahead of it can have a slot, as far as is known now. */
  earliestStart(ahead: number, now: number, intervalMs: number): number;
}

export function createQuota(capacity: number): Quota {
  let free = capacity;
  /** When the slots of ended requests come back, soonest first: a ring that grows. */
  let returns: number[] = [];
  let head = 0;
  return {
    get free() {
      return free;
    },
    get nextReturnAt() {
      return returns[head];
    },
    take() {
      free -= 1;
    },
    returnUnused() {
      free += 1;
    },
    returnAt(time) {
      // Without a limit there is nothing to come back.
      if (capacity !== Infinity) returns.push(time);
    },
    reclaim(now) {
      while ((returns[head] ?? Infinity) <= now) {
        head += 1;
        free += 1;
      }
      if (head > 64 && head * 2 > returns.length) {
        returns = returns.slice(head);
        head = 0;
      }
    },
    earliestStart(ahead, now, intervalMs) {
      if (ahead < free) return now;
      const rounds = Math.floor(ahead / capacity);
      const turn = (ahead % capacity) - free;
      // The requests under way end now at the earliest, and their slots come back last.
      const first = turn < 0 ? now : (returns[head + turn] ?? now + intervalMs);
      return rounds === 0 ? first : first + rounds * intervalMs;
    },
  };
}

/**
 * The service's clock and ours run at slightly different speeds, and it may count in whole milliseconds: a slot comes
 * back this much later than the interval says.
 */
export const safetyMarginMs = (intervalMs: number) => 3 + intervalMs / 10_000;
