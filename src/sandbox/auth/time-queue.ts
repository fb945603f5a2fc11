/** Times in the order in which they came, of which the oldest are dropped; both without moving the rest. */
export class TimeQueue {
  private times: number[] = [];
  private head = 0;

  get length(): number {
    return this.times.length - this.head;
  }

  /** The time at that place, counted from the oldest. */
  at(index: number): number | undefined {
    return this.times[this.head + index];
  }

  push(time: number): void {
    this.times.push(time);
  }

  dropBefore(time: number): void {
    while (this.head < this.times.length && (this.times[this.head] ?? time) < time) this.head += 1;
    if (this.head > 1000 && this.head * 2 > this.times.length) {
      this.times = this.times.slice(this.head);
      this.head = 0;
    }
  }
}
