import type { SlotRequest } from "./rate-limiter.js";
import type { SlotCounts } from "./slot-source.js";

/**
 * The queue of a limiter, ordered by priority, then by arrival. The bulk calls of each priority have a queue of their own, behind
 * its single calls, because bulk calls may have to wait while single calls need not.
 */
export function createPriorityQueue<T>() {
  const createPair = () => ({ single: createLinkedQueue<T>(), bulk: createLinkedQueue<T>() });
  /** From the most urgent to the least. */
  const pairs = { token: createPair(), high: createPair(), normal: createPair(), low: createPair() };
  const queues = Object.values(pairs).flatMap(({ single, bulk }) => [
    { slotKind: "single" as const, waiters: single },
    { slotKind: "bulk" as const, waiters: bulk },
  ]);
  const queueFor = ({ priority, slotKind }: SlotRequest) => pairs[priority][slotKind];

  /** How many calls wait in the queues before `end`. */
  const countsBefore = (end?: ReturnType<typeof queueFor>): SlotCounts => {
    const counts = { single: 0, bulk: 0 };
    for (const { slotKind, waiters } of queues) {
      if (waiters === end) break;
      counts[slotKind] += waiters.size;
    }
    return counts;
  };

  return {
    /** How many calls wait, in all queues. */
    get counts(): SlotCounts {
      return countsBefore();
    },
    /** Adds a value by its arrival. Returns a function that removes it. */
    add(value: T, request: SlotRequest, arrival: number): () => void {
      const queue = queueFor(request);
      const link = queue.add(value, arrival);
      return () => queue.remove(link);
    },
    /**
     * The first waiter of each queue, by priority. While the caller removes the first one, the next one of the same queue
     * follows.
     */
    *heads(): Generator<T> {
      for (const { waiters } of queues) {
        for (let last: unknown, link = waiters.first; link && link !== last; link = waiters.first) {
          last = link;
          yield link.value;
        }
      }
    },
    /** How many calls are certainly ahead of a request that joins the queue now. */
    countsAhead(request: SlotRequest): SlotCounts {
      const own = queueFor(request);
      const counts = countsBefore(own);
      // A retry keeps its arrival, so it may be ahead of its whole queue.
      if (request.arrival === undefined) counts[request.slotKind] += own.size;
      // Bulk calls may wait for their own quota, so a single call may start before them.
      return request.slotKind === "bulk" ? counts : { single: counts.single, bulk: 0 };
    },
    *[Symbol.iterator](): Generator<T> {
      for (const { waiters } of queues) yield* waiters;
    },
  };
}

export interface QueueLink<T> {
  readonly value: T;
  readonly arrival: number;
  previous: QueueLink<T> | undefined;
  next: QueueLink<T> | undefined;
}

/**
 * A doubly linked list, from which any waiter can be removed in constant time. The front of a large `Set` is slow to
 * find.
 */
export function createLinkedQueue<T>() {
  let first: QueueLink<T> | undefined;
  let last: QueueLink<T> | undefined;
  let size = 0;
  return {
    get first() {
      return first;
    },
    get size() {
      return size;
    },
    /** Adds a value by its arrival; a call that returns after a 429 keeps the arrival that it had. */
    add(value: T, arrival: number): QueueLink<T> {
      let previous = last;
      if (previous && previous.arrival > arrival) {
        previous = undefined;
        for (let link = first; link && link.arrival < arrival; link = link.next) previous = link;
      }
      const next = previous ? previous.next : first;
      const added: QueueLink<T> = { value, arrival, previous, next };
      if (previous) previous.next = added;
      else first = added;
      if (next) next.previous = added;
      else last = added;
      size += 1;
      return added;
    },
    remove({ previous, next }: QueueLink<T>): void {
      if (previous) previous.next = next;
      else first = next;
      if (next) next.previous = previous;
      else last = previous;
      size -= 1;
    },
    *[Symbol.iterator](): Generator<T> {
      for (let link = first; link; link = link.next) yield link.value;
    },
  };
}
