/** A place in a lane. */
export interface Place<T> {
  readonly value: T;
  /** Order of arrival. */
  readonly order: number;
  ahead: Place<T> | undefined;
  behind: Place<T> | undefined;
}

/** A queue that anyone in it can leave at once: a linked list, since the front of a large `Set` is slow to find. */
export class Lane<T> {
  first: Place<T> | undefined;
  #last: Place<T> | undefined;
  size = 0;

  /** Queues behind those that came before; a call that comes back after a 429 has the order that it had. */
  add(value: T, order: number): Place<T> {
    let ahead = this.#last;
    if (ahead && ahead.order > order) {
      ahead = undefined;
      for (let place = this.first; place && place.order < order; place = place.behind) ahead = place;
    }
    const behind = ahead ? ahead.behind : this.first;
    const place: Place<T> = { value, order, ahead, behind };
    if (ahead) ahead.behind = place;
    else this.first = place;
    if (behind) behind.ahead = place;
    else this.#last = place;
    this.size += 1;
    return place;
  }

  remove({ ahead, behind }: Place<T>): void {
    if (ahead) ahead.behind = behind;
    else this.first = behind;
    if (behind) behind.ahead = ahead;
    else this.#last = ahead;
    this.size -= 1;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let place = this.first; place; place = place.behind) yield place.value;
  }
}
