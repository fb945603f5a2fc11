/** Limits the number of lanes that are worked on at the same time. Those that only wait do not count. */
export class Capacity {
  #free: number;
  /** Lanes that wait for a place. */
  readonly #waiters: (() => void)[] = [];
  readonly #onFree: () => void;
  /** How many lanes have released their place while they wait for something else. */
  waiting = 0;

  /** @param onFree called when a place is free */
  constructor(places: number, onFree: () => void) {
    this.#free = places;
    this.#onFree = onFree;
  }

  get free(): number {
    return this.#free;
  }

  /** Waits for a place. */
  async take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  giveBack(): void {
    const next = this.#waiters.shift();
    if (next) {
      next();
    } else {
      this.#free += 1;
      this.#onFree();
    }
  }

  /** Releases the place of a lane while it waits, then takes one again. */
  async whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    this.waiting += 1;
    this.giveBack();
    try {
      return await wait();
    } finally {
      this.waiting -= 1;
      await this.take();
    }
  }
}
