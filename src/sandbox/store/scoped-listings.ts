import type { RecordIndex } from "./listing.js";
import type { Scope } from "./scopes.js";

/** One index for each set of warehouses that was asked for; made at the first question. */
export class ScopedIndexes {
  private readonly indexes = new Map<Scope, { readonly scope: ReadonlySet<number>; readonly index: RecordIndex }>();

  constructor(private readonly create: (scope: ReadonlySet<number>) => RecordIndex) {}

  of(scope: Scope): RecordIndex {
    let known = this.indexes.get(scope);
    if (!known) {
      const warehouses = new Set(scope);
      known = { scope: warehouses, index: this.create(warehouses) };
      this.indexes.set(scope, known);
    }
    return known.index;
  }

  /** Every index that shows this warehouse. */
  forEachShowing(wID: number, visit: (index: RecordIndex, scope: ReadonlySet<number>) => void): void {
    for (const { scope, index } of this.indexes.values()) if (scope.has(wID)) visit(index, scope);
  }

  *all(): Iterable<RecordIndex> {
    for (const { index } of this.indexes.values()) yield index;
  }
}
