type SortKey = string | number | boolean | null | undefined;

interface Sorting<T, Column extends string> {
  readonly columns: readonly Column[];
  /** Column to sort by if the request names none; by default the order in which they are given. */
  readonly defaultColumn?: Column;
  key(record: T, column: Column): SortKey;
  /** Breaks ties. */
  id(record: T): number;
}

/** Records of one kind, in every order that was requested so far. */
export class SortedRecords<T, Column extends string> {
  readonly #orders = new Map<Column, T[]>();
  /** Columns whose order is up to date. */
  readonly #current = new Set<Column>();

  constructor(
    private readonly records: T[],
    private readonly sorting: Sorting<T, Column>,
  ) {}

  /** The column of that name, whatever its case; undefined when there is none. */
  column(name: string): Column | undefined {
    const wanted = name.toLowerCase();
    return this.sorting.columns.find((column) => column.toLowerCase() === wanted);
  }

  ascending(column: Column | undefined = this.sorting.defaultColumn): readonly T[] {
    if (column === undefined) return this.records;
    const order = this.#orders.get(column) ?? [...this.records];
    if (this.#current.has(column)) return order;
    const { key, id } = this.sorting;
    // After a change the order is almost sorted, which takes one comparison per record.
    order.sort((a, b) => compareSortKeys(key(a, column), key(b, column)) || id(a) - id(b));
    this.#orders.set(column, order);
    this.#current.add(column);
    return order;
  }

  /** Required after records have changed or been added: the orders are sorted again when they are read. */
  markChanged(...added: readonly T[]): void {
    this.records.push(...added);
    for (const order of this.#orders.values()) order.push(...added);
    this.#current.clear();
  }
}

/** Null and undefined first, then numbers by value and strings by code unit. */
function compareSortKeys(a: SortKey, b: SortKey): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return a < b ? -1 : 1;
}
