import type { SlotRequest } from "./rate-limiter.js";
import type { QueueCounts } from "./slot-source.js";

/** From the most urgent to the least. */
const PRIORITIES = ["token", "high", "normal", "low"] as const;

/**
 * The queue of a limiter: the most urgent first, and among the equally urgent those that came first. Pages have lanes of
 * their own, behind the other calls of their urgency, since they may have to wait while others need not.
 */
export class PriorityQueue<T> {
  /** Two for each urgency: single calls, then pages. */
  readonly #queues = PRIORITIES.flatMap(() => [new LinkedQueue<T>(), new LinkedQueue<T>()]);

  /** How many wait, in all lanes. */
  get counts(): QueueCounts {
    return this.#countsOf(this.#queues.length);
  }

  /** Queues at the end of the lane, or where `order` belongs; returns what takes it out again. */
  add(value: T, request: SlotRequest, order: number): () => void {
    const lane = this.#queues[indexOf(request)];
    if (!lane) throw new RangeError(`no lane for ${request.priority}`);
    const place = lane.add(value, order);
    return () => lane.remove(place);
  }

  /** The first of each lane, the most urgent lane first. A lane is left when its first does not leave it. */
  *heads(): Generator<T> {
    for (const lane of this.#queues) {
      for (let last: unknown, place = lane.first; place && place !== last; place = lane.first) {
        last = place;
        yield place.value;
      }
    }
  }

  /** How many go for sure before a request that joins the queue now. */
  countsAhead(request: SlotRequest): QueueCounts {
    // One that comes back for another attempt may go before all of its lane.
    const { all, pages } = this.#countsOf(indexOf(request) + (request.arrival === undefined ? 1 : 0));
    // Pages may be held up by their own quota, so a single call does not wait for them for sure.
    return request.bulk ? { all, pages } : { all: all - pages, pages: 0 };
  }

  *[Symbol.iterator](): Generator<T> {
    for (const lane of this.#queues) yield* lane;
  }

  /** How many wait in the first lanes. */
  #countsOf(count: number): QueueCounts {
    const crowd = { all: 0, pages: 0 };
    for (let index = 0; index < count; index += 1) {
      const { size } = this.#queues[index] ?? { size: 0 };
      crowd.all += size;
      if (index % 2 === 1) crowd.pages += size;
    }
    return crowd;
  }
}

const indexOf = ({ priority, bulk }: SlotRequest) => PRIORITIES.indexOf(priority) * 2 + (bulk ? 1 : 0);

/** A place in a lane. */
export interface QueueEntry<T> {
  readonly value: T;
  /** Order of arrival. */
  readonly arrival: number;
  previous: QueueEntry<T> | undefined;
  next: QueueEntry<T> | undefined;
}

/** A queue that anyone in it can leave at once: a linked list, since the front of a large `Set` is slow to find. */
export class LinkedQueue<T> {
  first: QueueEntry<T> | undefined;
  #last: QueueEntry<T> | undefined;
  size = 0;

  /** Queues behind those that came before; a call that comes back after a 429 has the order that it had. */
  add(value: T, order: number): QueueEntry<T> {
    let ahead = this.#last;
    if (ahead && ahead.arrival > order) {
      ahead = undefined;
      for (let place = this.first; place && place.arrival < order; place = place.next) ahead = place;
    }
    const behind = ahead ? ahead.next : this.first;
    const place: QueueEntry<T> = { value, arrival: order, previous: ahead, next: behind };
    if (ahead) ahead.next = place;
    else this.first = place;
    if (behind) behind.previous = place;
    else this.#last = place;
    this.size += 1;
    return place;
  }

  remove({ previous: ahead, next: behind }: QueueEntry<T>): void {
    if (ahead) ahead.next = behind;
    else this.first = behind;
    if (behind) behind.previous = ahead;
    else this.#last = ahead;
    this.size -= 1;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let place = this.first; place; place = place.next) yield place.value;
  }
}
