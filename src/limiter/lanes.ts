import { Lane } from "./lane.js";
import type { SlotRequest } from "./rate-limiter.js";
import type { Crowd } from "./slot-source.js";

/** From the most urgent to the least. */
const URGENCY = ["token", "high", "normal", "low"] as const;

/**
 * The queue of a limiter: the most urgent first, and among the equally urgent those that came first. Pages have lanes of
 * their own, behind the other calls of their urgency, since they may have to wait while others need not.
 */
export class Lanes<T> {
  /** Two for each urgency: single calls, then pages. */
  readonly #lanes = URGENCY.flatMap(() => [new Lane<T>(), new Lane<T>()]);
  #all = 0;
  #pages = 0;

  /** How many wait, in all lanes. */
  get crowd(): Crowd {
    return { all: this.#all, pages: this.#pages };
  }

  /** Queues at the end of the lane, or where `order` belongs; returns what takes it out again. */
  add(value: T, request: SlotRequest, order: number): () => void {
    const { lane, isPages } = this.#laneOf(request);
    const place = lane.add(value, order);
    this.#count(isPages, 1);
    return () => {
      lane.remove(place);
      this.#count(isPages, -1);
    };
  }

  /** The first of each lane, the most urgent lane first. A lane is left when its first does not leave it. */
  *fronts(): Generator<T> {
    for (const lane of this.#lanes) {
      for (let last: unknown, place = lane.first; place && place !== last; place = lane.first) {
        last = place;
        yield place.value;
      }
    }
  }

  /** How many go for sure before a request that joins the queue now. */
  ahead(request: SlotRequest): Crowd {
    const own = this.#laneOf(request);
    let singles = 0;
    let pages = 0;
    for (const [index, lane] of this.#lanes.entries()) {
      // One that comes back for another attempt may go before all of its lane.
      if (index > own.index || (index === own.index && request.order !== undefined)) break;
      if (index % 2 === 0) singles += lane.size;
      else pages += lane.size;
    }
    // Pages may be held up by their own quota, so a single call does not wait for them for sure.
    return own.isPages ? { all: singles + pages, pages } : { all: singles, pages: 0 };
  }

  *[Symbol.iterator](): Generator<T> {
    for (const lane of this.#lanes) yield* lane;
  }

  #laneOf({ priority, bulk }: SlotRequest): { lane: Lane<T>; index: number; isPages: boolean } {
    const index = URGENCY.indexOf(priority) * 2 + (bulk ? 1 : 0);
    const lane = this.#lanes[index];
    if (!lane) throw new Error(`no lane for priority ${priority}`);
    return { lane, index, isPages: bulk };
  }

  #count(isPages: boolean, change: number): void {
    this.#all += change;
    if (isPages) this.#pages += change;
  }
}
