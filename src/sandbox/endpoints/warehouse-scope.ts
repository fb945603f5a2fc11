import type { EndpointContext } from "../http/endpoint.js";
import { notFound, outOfScope } from "../http/service-error.js";
import type { Scope } from "../store/scopes.js";

/** The existing warehouses that the caller is assigned to. */
export function scopeOf({ client, state }: EndpointContext): Scope {
  return state.scopes.ofClient(client);
}

/** Refuses a warehouse that the caller is not assigned to. One that does not exist is in nobody's scope. */
export function assertInScope(context: EndpointContext, wID: number): void {
  if (scopeOf(context).includes(wID)) return;
  if (!context.state.warehouses.has(wID) && context.settings.unknownWarehouse === "not-found") {
    throw notFound(`Warehouse ${wID} was not found.`);
  }
  throw outOfScope();
}

/** The warehouse that the path names, if it is in scope. */
export function warehouseInScope(context: EndpointContext): Scope {
  const text = context.params.wid ?? "";
  // A number that a double cannot hold is no special case: no warehouse has it, so it is in nobody's scope.
  if (!/^-?\d+$/.test(text)) throw notFound(`There is no warehouse ${text}.`);
  assertInScope(context, Number(text));
  return context.state.scopes.of([Number(text)]);
}
