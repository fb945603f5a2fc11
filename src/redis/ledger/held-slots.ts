import type { LedgerRequest } from "./ledger.js";

export type SlotKind = "singles" | "pages";

/** The slots that this process holds: those of requests in flight, and those of ended requests that are not free again. */
export class HeldSlots {
  readonly #inFlight = { singles: 0, pages: 0 };
  /** When the slots of ended requests are free again, soonest first. */
  readonly #returnTimes: Record<SlotKind, number[]> = { singles: [], pages: [] };

  get inFlight(): number {
    return this.#inFlight.singles + this.#inFlight.pages;
  }

  get pages(): number {
    return this.#inFlight.pages + this.#returnTimes.pages.length;
  }

  /** When the next slot of an ended request is free again. */
  get nextReturn(): number {
    const { singles, pages } = this.#returnTimes;
    return Math.min(singles[0] ?? Number.POSITIVE_INFINITY, pages[0] ?? Number.POSITIVE_INFINITY);
  }

  /** How many there are, after forgetting those that are free again by now. */
  count(now: number): number {
    const { singles, pages } = this.#returnTimes;
    for (const times of [singles, pages]) while ((times[0] ?? Number.POSITIVE_INFINITY) <= now) times.shift();
    return this.inFlight + singles.length + pages.length;
  }

  take(kind: SlotKind): void {
    this.#inFlight[kind] += 1;
  }

  /** The request of a slot has ended. */
  release(kind: SlotKind, returnAt: number): void {
    this.#inFlight[kind] -= 1;
    const times = this.#returnTimes[kind];
    times.splice(times.findLastIndex((time) => time <= returnAt) + 1, 0, returnAt);
  }

  /** Nothing was sent with this slot. */
  returnUnused(kind: SlotKind): void {
    this.#inFlight[kind] -= 1;
  }

  /** What the ledger has to know of them. */
  report(now: number): Pick<LedgerRequest, "inFlight" | "returning"> {
    const { singles, pages } = this.#returnTimes;
    const delays = (times: readonly number[]) => times.map((time) => Math.max(0, Math.ceil(time - now)));
    return { inFlight: { ...this.#inFlight }, returning: { singles: delays(singles), pages: delays(pages) } };
  }
}
