import type { AccessControl, CallerIdentity } from "../access.js";
import type { JsonObject } from "../http/body.js";
import {
  notFoundError,
  type SandboxRequest,
  type SandboxResponse,
  warehouseOutOfScopeError,
} from "../http/messages.js";
import type { SandboxClient } from "../options/options.js";
import type { SandboxSettings } from "../options/settings.js";
import type { SandboxState } from "../state.js";

/** A request, and what the service consists of when it arrives. */
export interface ServiceContext {
  readonly request: SandboxRequest;
  /** Relative to the base address, encoded; undefined if the request went elsewhere. */
  readonly path: string | undefined;
  readonly query: URLSearchParams;
  readonly identity: CallerIdentity;
  readonly access: AccessControl;
  readonly state: SandboxState;
  readonly settings: SandboxSettings;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface EndpointContext extends ServiceContext {
  readonly client: SandboxClient;
  /** The parameter in the path, decoded. */
  readonly param?: string;
  /** The body; throws a `ServiceError` if it is not a JSON object. */
  json(): JsonObject;
}

/** The row of the document's table of endpoints to which a request belongs. */
export interface Endpoint {
  /** Security ID that the client needs. */
  readonly permission: number;
  readonly handle: (context: EndpointContext) => SandboxResponse;
  /** The parameter in the path, still encoded. */
  readonly param?: string | undefined;
}

/** The existing warehouses that the client is assigned to. */
const warehousesInScope = ({ client, state }: EndpointContext): number[] =>
  [...state.warehouses.keys()].filter((wID) => client.warehouses?.includes(wID) ?? true);

/** Throws 403 for a warehouse outside the client's scope. An unknown warehouse is in no scope. */
export function assertWarehouseInScope(context: EndpointContext, wID: number): void {
  if (warehousesInScope(context).includes(wID)) return;
  throw warehouseOutOfScopeError();
}

/** The warehouse in the path, or all in the client's scope. Throws 403 if the warehouse is out of scope. */
export function requestedWarehouses(context: EndpointContext): number[] {
  const { param: wid } = context;
  if (wid === undefined) return warehousesInScope(context);
  // A number too large for a double needs no special case: no warehouse has it, so it is in no scope.
  if (!/^-?\d+$/.test(wid)) throw notFoundError(`There is no warehouse ${wid}.`);
  assertWarehouseInScope(context, Number(wid));
  return [Number(wid)];
}
