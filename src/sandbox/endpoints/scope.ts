import type { Call } from "../http/call.js";
import { notFound, outOfScope } from "../http/refusal.js";
import type { Scope } from "../store/scopes.js";

/** The existing warehouses that the caller is assigned to. */
export function scopeOf({ client, state }: Call): Scope {
  return state.scopes.ofClient(client);
}

/** Refuses a warehouse that the caller is not assigned to. One that does not exist is in nobody's scope. */
export function demandInScope(call: Call, wID: number): void {
  if (scopeOf(call).includes(wID)) return;
  if (!call.state.warehouses.has(wID) && call.settings.unknownWarehouse === "not-found") {
    throw notFound(`Warehouse ${wID} was not found.`);
  }
  throw outOfScope();
}

/** The warehouse that the path names, if it is in scope. */
export function warehouseInScope(call: Call): Scope {
  const text = call.params.wid ?? "";
  // A number that a double cannot hold is no special case: no warehouse has it, so it is in nobody's scope.
  if (!/^-?\d+$/.test(text)) throw notFound(`There is no warehouse ${text}.`);
  demandInScope(call, Number(text));
  return call.state.scopes.of([Number(text)]);
}
