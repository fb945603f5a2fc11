import type { SandboxClient } from "../options.js";

/** Warehouse IDs in ascending order. The same scope is always the same array, so that it can be a key. */
export type Scope = readonly number[];

/** The sets of warehouses that requests are about. */
export class Scopes {
  private readonly known = new Map<string, Scope>();
  private readonly byClient = new Map<SandboxClient, Scope>();

  constructor(private readonly warehouses: readonly number[]) {}

  /** The existing warehouses that the client is assigned to. */
  ofClient(client: SandboxClient): Scope {
    let scope = this.byClient.get(client);
    if (!scope) {
      scope = this.of((client.warehouses ?? this.warehouses).filter((wID) => this.warehouses.includes(wID)));
      this.byClient.set(client, scope);
    }
    return scope;
  }

  /** The scope of these warehouses. */
  of(warehouses: readonly number[]): Scope {
    const key = warehouses.join();
    let scope = this.known.get(key);
    if (!scope) {
      scope = [...new Set(warehouses)].sort((a, b) => a - b);
      this.known.set(key, scope);
    }
    return scope;
  }
}
