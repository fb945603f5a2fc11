import type { Call } from "../http/call.js";
import { notFound, outOfScope } from "../http/refusal.js";

type Caller = Pick<Call, "client" | "state" | "settings">;

const scopes = new WeakMap<object, readonly number[]>();

/** The existing warehouses that the caller is assigned to, in ascending order. */
export function scopeOf({ client, state }: Caller): readonly number[] {
  const owner = client.warehouses ?? state.warehouses;
  let scope = scopes.get(owner);
  if (!scope) {
    const assigned = client.warehouses ?? [...state.warehouses.keys()];
    scope = [...new Set(assigned)].filter((wID) => state.warehouses.has(wID)).sort((a, b) => a - b);
    scopes.set(owner, scope);
  }
  return scope;
}

/** Refuses a warehouse that the caller is not assigned to. One that does not exist is in nobody's scope. */
export function demandInScope(call: Caller, wID: number): void {
  if (scopeOf(call).includes(wID)) return;
  if (!call.state.warehouses.has(wID) && call.settings.unknownWarehouse === "not-found") {
    throw notFound(`Warehouse ${wID} was not found.`);
  }
  throw outOfScope();
}

/** The warehouse that a path names. */
export function warehouseParam(call: Pick<Call, "params">): number {
  const text = call.params.wid ?? "";
  if (!/^-?\d{1,15}$/.test(text)) throw notFound(`There is no warehouse ${text}.`);
  return Number(text);
}
