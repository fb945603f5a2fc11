/** A value to sort by. */
export type SortKey = string | number | boolean | null | undefined;

/** How records of one kind can be sorted. */
export interface Sorting<T, Column extends string> {
  readonly columns: readonly Column[];
  /** Column to sort by if the request names none. */
  readonly defaultColumn: Column;
  key(record: T, column: Column): SortKey;
  /** Breaks ties. */
  id(record: T): number;
}

/** Records of one kind, in every order that was requested so far. */
export class SortedRecords<T, Column extends string> {
  private readonly orders = new Map<Column, T[]>();
  /** Columns whose order is up to date. */
  private readonly current = new Set<Column>();

  constructor(
    private readonly records: T[],
    private readonly sorting: Sorting<T, Column>,
  ) {}

  /** The column of that name, whatever its case; undefined when there is none. */
  column(name: string): Column | undefined {
    const wanted = name.toLowerCase();
    return this.sorting.columns.find((column) => column.toLowerCase() === wanted);
  }

  /** All records, ascending by the column. */
  ascending(column: Column = this.sorting.defaultColumn): readonly T[] {
    const order = this.orders.get(column) ?? [...this.records];
    if (this.current.has(column)) return order;
    order.sort((a, b) => this.compare(a, b, column));
    this.orders.set(column, order);
    this.current.add(column);
    return order;
  }

  /** An order in which the new record is the last one needs no sorting: most lists of a service grow at the end. */
  add(record: T): void {
    this.records.push(record);
    for (const [column, order] of this.orders) {
      const last = order.at(-1);
      if (last !== undefined && this.compare(last, record, column) > 0) this.current.delete(column);
      order.push(record);
    }
  }

  /** Required after records have changed in the given columns: their orders are sorted again when they are read. */
  markChanged(isChanged: (column: Column) => boolean): void {
    for (const column of this.current) if (isChanged(column)) this.current.delete(column);
  }

  private compare(a: T, b: T, column: Column): number {
    const { key, id } = this.sorting;
    return compareSortKeys(key(a, column), key(b, column)) || id(a) - id(b);
  }
}

/** Null and undefined first, then numbers by value and strings by code unit. */
function compareSortKeys(a: SortKey, b: SortKey): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return a < b ? -1 : 1;
}
