/** The slots of one kind that this process holds: those of requests in flight, and those that are not free again yet. */
export class HeldSlots {
  inFlight = 0;
  /** When the slots of ended requests are free again, soonest first. */
  #returnTimes: number[] = [];

  get count(): number {
    return this.inFlight + this.#returnTimes.length;
  }

  /** When the next slot of an ended request is free again. */
  get nextReturn(): number {
    return this.#returnTimes[0] ?? Number.POSITIVE_INFINITY;
  }

  /** The request of a slot has ended. */
  release(returnAt: number): void {
    this.inFlight -= 1;
    const before = this.#returnTimes.findLastIndex((time) => time <= returnAt);
    this.#returnTimes.splice(before + 1, 0, returnAt);
  }

  /** Forgets the slots that are free again. */
  reclaim(now: number): void {
    if (this.nextReturn <= now) this.#returnTimes = this.#returnTimes.filter((time) => time > now);
  }

  /** In how many ms each slot of an ended request is free again. */
  returningIn(now: number): number[] {
    return this.#returnTimes.map((time) => Math.max(0, Math.ceil(time - now)));
  }
}
