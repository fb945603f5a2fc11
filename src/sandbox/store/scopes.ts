import type { SandboxClient } from "../options/options.js";
import type { RecordIndex } from "./record-index.js";

/** Warehouse IDs in ascending order. The same scope is always the same array, so that it can be a key. */
export type WarehouseScope = readonly number[];

/** The scopes in use. */
export class WarehouseScopeRegistry {
  private readonly byKey = new Map<string, WarehouseScope>();
  private readonly byClient = new Map<SandboxClient, WarehouseScope>();

  constructor(private readonly warehouses: readonly number[]) {}

  /** The existing warehouses that the client is assigned to. */
  forClient(client: SandboxClient): WarehouseScope {
    let scope = this.byClient.get(client);
    if (!scope) {
      scope = this.forWarehouses((client.warehouses ?? this.warehouses).filter((wID) => this.warehouses.includes(wID)));
      this.byClient.set(client, scope);
    }
    return scope;
  }

  /** The scope of these warehouses. */
  forWarehouses(warehouses: readonly number[]): WarehouseScope {
    const key = warehouses.join();
    let scope = this.byKey.get(key);
    if (!scope) {
      scope = [...new Set(warehouses)].sort((a, b) => a - b);
      this.byKey.set(key, scope);
    }
    return scope;
  }
}

/** One index for each set of warehouses that was requested, created at its first use. */
export class IndexesByWarehouseScope<Column extends string> {
  private readonly indexes = new Map<
    WarehouseScope,
    { readonly scope: ReadonlySet<number>; readonly index: RecordIndex<Column> }
  >();

  constructor(private readonly create: (scope: ReadonlySet<number>) => RecordIndex<Column>) {}

  get(scope: WarehouseScope): RecordIndex<Column> {
    let known = this.indexes.get(scope);
    if (!known) {
      const warehouses = new Set(scope);
      known = { scope: warehouses, index: this.create(warehouses) };
      this.indexes.set(scope, known);
    }
    return known.index;
  }

  /** Every index that shows this warehouse. */
  forEachShowing(wID: number, visit: (index: RecordIndex<Column>, scope: ReadonlySet<number>) => void): void {
    for (const { scope, index } of this.indexes.values()) if (scope.has(wID)) visit(index, scope);
  }

  *all(): Iterable<RecordIndex<Column>> {
    for (const { index } of this.indexes.values()) yield index;
  }
}
