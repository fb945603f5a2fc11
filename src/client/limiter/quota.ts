/**
 * A fixed number of slots, each of which is free again one interval after its request has ended. The service counts a request at
 * some moment between its start and its end, so no interval contains more requests than there are slots, with any kind of
 * window that the service may use.
 */
export interface SlotQuota {
  readonly free: number;
  /** When the next slot will be free; `undefined` if no request with a slot has ended. */
  readonly nextFreeAt: number | undefined;
  take(): void;
  /** Returns a slot that was not used. */
  freeNow(): void;
  /** The request of a slot has ended. `time` must not be earlier than that of any previous call. */
  freeAt(time: number): void;
  /** Frees the slots whose time has passed. */
  reclaim(now: number): void;
  /** The earliest time at which a request with this many others ahead of it can have a slot, as far as is known. */
  earliestStart(ahead: number, now: number, intervalMs: number): number;
}

export function createSlotQuota(capacity: number): SlotQuota {
  let free = capacity;
  /** When the slots of ended requests are free again, earliest first. Those before `head` are reclaimed. */
  let returns: number[] = [];
  let head = 0;
  return {
    get free() {
      return free;
    },
    get nextFreeAt() {
      return returns[head];
    },
    take() {
      free -= 1;
    },
    freeNow() {
      free += 1;
    },
    freeAt(time) {
      // Without a limit no slot is ever missing.
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
      const position = (ahead % capacity) - free;
      // Requests in flight end now at the earliest, and their slots are free last.
      const first = position < 0 ? now : (returns[head + position] ?? now + intervalMs);
      return rounds === 0 ? first : first + rounds * intervalMs;
    },
  };
}

/**
 * The service's clock and ours run at slightly different speeds, and it may count in whole milliseconds: a slot is
 * kept this much longer than the interval.
 */
export const safetyMarginMs = (intervalMs: number) => 3 + intervalMs / 10_000;
