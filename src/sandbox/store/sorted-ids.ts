/** Record numbers kept in order, so that no request has to sort. */
export class SortedIds {
  constructor(
    /** In ascending order already. */
    readonly ids: number[],
    private readonly compare: (a: number, b: number) => number,
  ) {}

  insert(id: number): void {
    this.ids.splice(this.position(id), 0, id);
  }

  /** Must be called while the record still has the values it was sorted by. */
  remove(id: number): void {
    const position = this.position(id);
    if (this.ids[position] === id) this.ids.splice(position, 1);
  }

  private position(id: number): number {
    let low = 0;
    let high = this.ids.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.compare(this.ids[middle] ?? id, id) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
