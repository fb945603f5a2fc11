/** A value to sort by. */
export type SortKey = string | number | boolean | null | undefined;

/** What a {@link RecordIndex} needs to know about its records. */
export interface RecordSource<Column extends string> {
  /** Column to sort by if the request names none; ties are broken by record number. */
  readonly defaultColumn: Column;
  readonly columns: readonly Column[];
  /** Every record number, ascending in the default column. */
  ids(): number[];
  key(id: number, column: Column): SortKey;
  /** Milliseconds since the epoch. */
  modifiedAt(id: number): number;
}

/** Records of one kind within one scope, in every order that was requested so far. */
export class RecordIndex<Column extends string = string> {
  private readonly orders = new Map<Column, SortedRecordIds>();
  private readonly filteredIds = new Map<string, readonly number[]>();

  constructor(private readonly source: RecordSource<Column>) {}

  /** The column of that name, whatever its case; undefined when there is none. */
  column(name: string): Column | undefined {
    const wanted = name.toLowerCase();
    return this.source.columns.find((column) => column.toLowerCase() === wanted);
  }

  /** All records, ascending by the column. */
  ascending(column: Column = this.source.defaultColumn): readonly number[] {
    return this.order(column).ids;
  }

  /** The records modified at or after `since`, ascending by the column. */
  modifiedSince(since: number, column: Column = this.source.defaultColumn): readonly number[] {
    const key = `${since} ${column}`;
    const known = this.filteredIds.get(key);
    if (known) return known;
    if (this.filteredIds.size >= 8) this.filteredIds.clear();
    const ids = this.ascending(column).filter((id) => this.source.modifiedAt(id) >= since);
    this.filteredIds.set(key, ids);
    return ids;
  }

  add(id: number): void {
    this.filteredIds.clear();
    for (const order of this.orders.values()) order.insert(id);
  }

  /** Removes a record; must be called before the change that requires it. */
  remove(id: number): void {
    this.filteredIds.clear();
    for (const order of this.orders.values()) order.remove(id);
  }

  /** Drops the order by one column, after its values have changed in many records. */
  dropOrder(column: Column): void {
    this.filteredIds.clear();
    this.orders.delete(column);
  }

  private order(column: Column): SortedRecordIds {
    let order = this.orders.get(column);
    if (!order) {
      order = new SortedRecordIds(this.sorted(column), (a, b) => this.compareRecords(a, b, column));
      this.orders.set(column, order);
    }
    return order;
  }

  private sorted(column: Column): number[] {
    const ids = this.source.ids();
    if (column === this.source.defaultColumn) return ids;
    const keyed = ids.map((id) => ({ id, key: this.source.key(id, column) }));
    keyed.sort((a, b) => compareSortKeys(a.key, b.key) || a.id - b.id);
    return keyed.map(({ id }) => id);
  }

  private compareRecords(a: number, b: number, column: Column): number {
    return compareSortKeys(this.source.key(a, column), this.source.key(b, column)) || a - b;
  }
}

/** Null and undefined first, then numbers by value and strings by code unit. */
function compareSortKeys(a: SortKey, b: SortKey): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return a < b ? -1 : 1;
}

/** Sorted record numbers, so that no request has to sort. */
export class SortedRecordIds {
  constructor(
    /** In ascending order already. */
    readonly ids: number[],
    private readonly compare: (a: number, b: number) => number,
  ) {}

  insert(id: number): void {
    this.ids.splice(this.position(id), 0, id);
  }

  /** Must be called while the record still has the values that it was sorted by. */
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
