import type { EndpointContext } from "../http/endpoint.js";
import { notFound, outOfScope } from "../http/service-error.js";
import type { Scope } from "../store/scopes.js";

/** The existing warehouses that the client is assigned to. */
export function scopeOf({ client, state }: EndpointContext): Scope {
  return state.scopes.forClient(client);
}

/** Throws 403 for a warehouse outside the client's scope. An unknown warehouse is in no scope. */
export function assertInScope(context: EndpointContext, wID: number): void {
  if (scopeOf(context).includes(wID)) return;
  if (!context.state.warehouses.has(wID) && context.settings.unknownWarehouse === "not-found") {
    throw notFound(`Warehouse ${wID} was not found.`);
  }
  throw outOfScope();
}

/** The warehouse in the path. Throws 403 if it is out of scope. */
export function warehouseInScope(context: EndpointContext): Scope {
  const text = context.params.wid ?? "";
  // A number too large for a double needs no special case: no warehouse has it, so it is in no scope.
  if (!/^-?\d+$/.test(text)) throw notFound(`There is no warehouse ${text}.`);
  assertInScope(context, Number(text));
  return context.state.scopes.forWarehouses([Number(text)]);
}
