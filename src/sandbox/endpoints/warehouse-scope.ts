import { notFoundError, warehouseOutOfScopeError } from "../http/service-error.js";
import type { EndpointContext } from "./endpoint.js";

/** The existing warehouses that the client is assigned to. */
function warehouseScopeOfClient({ client, state }: EndpointContext): number[] {
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

/** The warehouse in the path, or all in the client's scope. Throws 403 if the warehouse is out of scope. */
export function requestedWarehouses(context: EndpointContext): number[] {
  const { wid } = context.params;
  if (wid === undefined) return warehouseScopeOfClient(context);
  // A number too large for a double needs no special case: no warehouse has it, so it is in no scope.
  if (!/^-?\d+$/.test(wid)) throw notFoundError(`There is no warehouse ${wid}.`);
  assertWarehouseInScope(context, Number(wid));
  return [Number(wid)];
}
