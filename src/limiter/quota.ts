/**
 * A number of slots, each of which comes back one interval after its request has ended. The service counts a request at
 * some moment between its start and its end, so no interval ever holds more requests than there are slots, whatever
 * kind of window the service uses.
 */
export class Quota {
  #taken = 0;
  /** When the slots of ended requests come back, soonest first: a ring that grows. */
  #returns: number[] = [];
  #head = 0;

  constructor(readonly capacity: number) {}

  get free(): number {
    return this.capacity - this.#taken;
  }

  /** When the next slot comes back, or `undefined` while all are in use by requests under way. */
  get nextReturn(): number | undefined {
    return this.#returns[this.#head];
  }

  take(): void {
    this.#taken += 1;
  }

  /** Gives back a slot that was not used. */
  giveBack(): void {
    this.#taken -= 1;
  }

  /** The request of a slot has ended; the slot comes back at a time that is no earlier than that of any before it. */
  returnAt(time: number): void {
    if (this.capacity === Number.POSITIVE_INFINITY) this.#taken -= 1;
    else this.#returns.push(time);
  }

  /** Takes back what has come due. */
  settle(now: number): void {
    while (this.#head < this.#returns.length && (this.#returns[this.#head] ?? 0) <= now) {
      this.#head += 1;
      this.#taken -= 1;
    }
    if (this.#head > 64 && this.#head * 2 > this.#returns.length) {
      this.#returns = this.#returns.slice(this.#head);
      this.#head = 0;
    }
  }

  /** The earliest time at which a request with so many others ahead of it can have a slot, as far as is known now. */
  earliest(ahead: number, now: number, intervalMs: number): number {
    if (ahead < this.free) return now;
    const rounds = Math.floor(ahead / this.capacity);
    const turn = (ahead % this.capacity) - this.free;
    // The requests under way end now at the earliest, and their slots come back last.
    const first = turn < 0 ? now : (this.#returns[this.#head + turn] ?? now + intervalMs);
    return rounds === 0 ? first : first + rounds * intervalMs;
  }
}
