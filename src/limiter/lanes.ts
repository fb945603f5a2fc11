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

  /** How many wait, in all lanes. */
  get crowd(): Crowd {
    return this.#crowdOf(this.#lanes.length);
  }

  /** Queues at the end of the lane, or where `order` belongs; returns what takes it out again. */
  add(value: T, request: SlotRequest, order: number): () => void {
    const lane = this.#lanes[indexOf(request)];
    if (!lane) throw new RangeError(`no lane for ${request.priority}`);
    const place = lane.add(value, order);
    return () => lane.remove(place);
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
    // One that comes back for another attempt may go before all of its lane.
    const { all, pages } = this.#crowdOf(indexOf(request) + (request.order === undefined ? 1 : 0));
    // Pages may be held up by their own quota, so a single call does not wait for them for sure.
    return request.bulk ? { all, pages } : { all: all - pages, pages: 0 };
  }

  *[Symbol.iterator](): Generator<T> {
    for (const lane of this.#lanes) yield* lane;
  }

  /** How many wait in the first lanes. */
  #crowdOf(count: number): Crowd {
    const crowd = { all: 0, pages: 0 };
    for (let index = 0; index < count; index += 1) {
      const { size } = this.#lanes[index] ?? { size: 0 };
      crowd.all += size;
      if (index % 2 === 1) crowd.pages += size;
    }
    return crowd;
  }
}

const indexOf = ({ priority, bulk }: SlotRequest) => URGENCY.indexOf(priority) * 2 + (bulk ? 1 : 0);
