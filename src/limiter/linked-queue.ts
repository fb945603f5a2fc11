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
