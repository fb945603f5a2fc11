import type { SlotRequest } from "./rate-limiter.js";
import type { SlotCounts } from "./slot-source.js";

/** From the most urgent to the least. */
const PRIORITIES = ["token", "high", "normal", "low"] as const;

/**
 * The queue of a limiter, ordered by priority, then by arrival. The pages of each priority have a queue of their own, behind
 * its single calls, because pages may have to wait while single calls need not.
 */
export class PriorityQueue<T> {
  /** Two for each priority: single calls, then pages. */
  readonly #queues = PRIORITIES.flatMap(() => [new LinkedQueue<T>(), new LinkedQueue<T>()]);

  /** How many calls wait, in all queues. */
  get counts(): SlotCounts {
    return this.#countsOf(this.#queues.length);
  }

  /** Adds a value by its arrival. Returns a function that removes it. */
  add(value: T, request: SlotRequest, arrival: number): () => void {
    const queue = this.#queues[queueIndexOf(request)];
    if (!queue) throw new RangeError(`no queue for priority ${request.priority}`);
    const entry = queue.add(value, arrival);
    return () => queue.remove(entry);
  }

  /**
   * The first entry of each queue, by priority. While the caller removes the first entry, the next one of the same queue
   * follows.
   */
  *heads(): Generator<T> {
    for (const queue of this.#queues) {
      for (let last: unknown, entry = queue.first; entry && entry !== last; entry = queue.first) {
        last = entry;
        yield entry.value;
      }
    }
  }

  /** How many calls are certainly ahead of a request that joins the queue now. */
  countsAhead(request: SlotRequest): SlotCounts {
    // A retry keeps its arrival, so it may be ahead of its whole queue.
    const { singles, pages } = this.#countsOf(queueIndexOf(request) + (request.arrival === undefined ? 1 : 0));
    // Pages may wait for their own quota, so a single call may start before them.
    return { singles, pages: request.isBulk ? pages : 0 };
  }

  *[Symbol.iterator](): Generator<T> {
    for (const queue of this.#queues) yield* queue;
  }

  /** How many calls wait in the first `length` queues. */
  #countsOf(length: number): SlotCounts {
    const counts = { singles: 0, pages: 0 };
    for (let index = 0; index < length; index += 1) {
      const { size } = this.#queues[index] ?? { size: 0 };
      counts[index % 2 === 0 ? "singles" : "pages"] += size;
    }
    return counts;
  }
}

const queueIndexOf = ({ priority, isBulk }: SlotRequest) => PRIORITIES.indexOf(priority) * 2 + (isBulk ? 1 : 0);

/** An entry of a {@link LinkedQueue}. */
export interface QueueEntry<T> {
  readonly value: T;
  readonly arrival: number;
  previous: QueueEntry<T> | undefined;
  next: QueueEntry<T> | undefined;
}

/**
 * A doubly linked list, from which any entry can be removed in constant time. The front of a large `Set` is slow to
 * find.
 */
export class LinkedQueue<T> {
  first: QueueEntry<T> | undefined;
  #last: QueueEntry<T> | undefined;
  size = 0;

  /** Adds a value by its arrival; a call that returns after a 429 keeps the arrival that it had. */
  add(value: T, arrival: number): QueueEntry<T> {
    let previous = this.#last;
    if (previous && previous.arrival > arrival) {
      previous = undefined;
      for (let entry = this.first; entry && entry.arrival < arrival; entry = entry.next) previous = entry;
    }
    const next = previous ? previous.next : this.first;
    const added: QueueEntry<T> = { value, arrival, previous, next };
    if (previous) previous.next = added;
    else this.first = added;
    if (next) next.previous = added;
    else this.#last = added;
    this.size += 1;
    return added;
  }

  remove({ previous, next }: QueueEntry<T>): void {
    if (previous) previous.next = next;
    else this.first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    this.size -= 1;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let entry = this.first; entry; entry = entry.next) yield entry.value;
  }
}
