import type { JsonObject } from "../http/body.js";
import type { SandboxResponse } from "../http/response.js";
import type { EmitTransaction } from "../listeners.js";
import type { SandboxClient } from "../options/options.js";
import type { SandboxSettings } from "../options/settings.js";
import type { SandboxState } from "../state.js";

/** A request, and what the service consists of when it arrives. */
export interface ServiceContext {
  readonly query: URLSearchParams;
  readonly state: SandboxState;
  readonly settings: SandboxSettings;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Notifies the listeners of a transaction. */
  readonly emitTransaction: EmitTransaction;
}

/** An authorized request, as an endpoint sees it. */
export interface EndpointContext extends ServiceContext {
  readonly client: SandboxClient;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The body; throws a `ServiceError` if it is not a JSON object. */
  json(): JsonObject;
}

/** One row of the document's table of endpoints. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  /** Security ID that the client needs. */
  readonly permission: number;
  readonly handle: (context: EndpointContext) => SandboxResponse;
}
