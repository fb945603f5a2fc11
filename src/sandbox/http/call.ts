import type { SandboxClient } from "../options.js";
import type { Settings } from "../settings.js";
import type { State } from "../store/state.js";
import type { EmitTransaction } from "../transactions.js";
import type { JsonObject } from "./body.js";
import type { SandboxResponse } from "./reply.js";

/** An authorized request, as an endpoint sees it. */
export interface EndpointContext {
  readonly client: SandboxClient;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The body; throws the refusal when it is not a JSON object. */
  json(): JsonObject;
  readonly state: State;
  readonly settings: Settings;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Makes a transaction known to whoever watches. */
  readonly emitTransaction: EmitTransaction;
}

/** One row of the document's table of endpoints. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  /** Security ID that the caller must hold. */
  readonly permission: number;
  readonly handle: (context: EndpointContext) => SandboxResponse;
}
