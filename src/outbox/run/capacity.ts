/** Limits the number of items that are processed at the same time. Items that only wait do not count. */
export class Capacity {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #onFree: () => void;
  /** Items that have released their place while they wait. */
  settling = 0;

  /** @param onFree called when a place is free */
  constructor(places: number, onFree: () => void) {
    this.#free = places;
    this.#onFree = onFree;
  }

  get free(): number {
    return this.#free;
  }

  take(): void {
    this.#free -= 1;
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next) {
      next();
    } else {
      this.#free += 1;
      this.#onFree();
    }
  }

  /** Releases the place of an item while it waits, then takes one again. */
  async whileSettling<T>(wait: () => Promise<T>): Promise<T> {
    this.settling += 1;
    this.giveBack();
    try {
      return await wait();
    } finally {
      this.settling -= 1;
      if (this.#free > 0) this.take();
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }
}
