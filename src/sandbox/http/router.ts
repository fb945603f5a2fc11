import { TrieRouter } from "hono/router/trie-router";
import type { Endpoint } from "./call.js";
import { badRequest } from "./refusal.js";

/** An endpoint that fits a request, with its path parameters decoded. */
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
    return { endpoint, params: decoded(params) };
  };
}

function decoded(params: Readonly<Record<string, unknown>>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name in params) values[name] = decode(String(params[name]));
  return values;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequest("The path is not percent-encoded properly.");
  }
}
