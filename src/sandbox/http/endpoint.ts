import { TrieRouter } from "hono/router/trie-router";
import type { EmitTransaction } from "../listeners.js";
import type { SandboxClient } from "../options/options.js";
import type { SandboxSettings } from "../options/settings.js";
import type { SandboxState } from "../state.js";
import type { JsonObject } from "./body.js";
import type { SandboxResponse } from "./response.js";
import { badRequestError } from "./service-error.js";

/** An authorized request, as an endpoint sees it. */
export interface EndpointContext {
  readonly client: SandboxClient;
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The body; throws a `ServiceError` if it is not a JSON object. */
  json(): JsonObject;
  readonly state: SandboxState;
  readonly settings: SandboxSettings;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Notifies the listeners of a transaction. */
  readonly emitTransaction: EmitTransaction;
}

/** One row of the document's table of endpoints. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  /** Security ID that the client needs. */
  readonly permission: number;
  readonly handle: (context: EndpointContext) => SandboxResponse;
}

/** The endpoint for a request, with its path parameters decoded. */
export interface Route {
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
}

export type FindRoute = (method: string, path: string) => Route | undefined;

/**
 * Finds the endpoint for a path that is still encoded, and decodes the parameters only then: `/Item/A%2FB` names the
 * SKU `A/B`, not a path of three segments.
 */
export function createRouter(endpoints: readonly Endpoint[]): FindRoute {
  const router = new TrieRouter<Endpoint>();
  for (const endpoint of endpoints) router.add(endpoint.method, endpoint.path, endpoint);
  return (method, path) => {
    const [match] = router.match(method, path)[0];
    if (!match) return undefined;
    const [endpoint, params] = match;
    return { endpoint, params: decodePathParams(params) };
  };
}

function decodePathParams(params: Readonly<Record<string, unknown>>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name in params) values[name] = decodePathParam(String(params[name]));
  return values;
}

function decodePathParam(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequestError("The path is not percent-encoded properly.");
  }
}
