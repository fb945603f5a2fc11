import { notFoundError, warehouseOutOfScopeError } from "../http/service-error.js";
import type { EndpointContext } from "./endpoint.js";

/** The existing warehouses that the client is assigned to. */
export function warehouseScopeOfClient({ client, state }: EndpointContext): number[] {
  return [...state.warehouses.keys()].filter((wID) => client.warehouses?.includes(wID) ?? true);
}

/** Throws 403 for a warehouse outside the client's scope. An unknown warehouse is in no scope. */
export function assertWarehouseInScope(context: EndpointContext, wID: number): void {
  if (warehouseScopeOfClient(context).includes(wID)) return;
  if (!context.state.warehouses.has(wID) && context.settings.unknownWarehouse === "not-found") {
    throw notFoundError(`Warehouse ${wID} was not found.`);
  }
  throw warehouseOutOfScopeError();
}

/** The warehouse in the path. Throws 403 if it is out of scope. */
export function scopeOfRequestedWarehouse(context: EndpointContext): number[] {
  const text = context.params.wid ?? "";
  // A number too large for a double needs no special case: no warehouse has it, so it is in no scope.
  if (!/^-?\d+$/.test(text)) throw notFoundError(`There is no warehouse ${text}.`);
  assertWarehouseInScope(context, Number(text));
  return [Number(text)];
}
