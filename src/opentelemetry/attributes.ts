import type { Attributes } from "@opentelemetry/api";
import type { CallInfo } from "../client/for-add-ons.js";
import { documentedPaths } from "../service/operations.js";
import { setNewest } from "../shared/bounded-map.js";

// Names of the semantic conventions, so that their package need not be installed. `url.template` is in development.

export const serverAttributes = ({ hostname, port, protocol }: URL) => ({
  "server.address": hostname,
  "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
});

const MAX_SERVERS = 100;
const servers = new Map<string, { attributes: ReturnType<typeof serverAttributes>; pathname: string }>();

/** Returns the attributes of the server of a client, and the path of its base URL, without a slash at its end. */
export function serverOf({ url: baseUrl }: Pick<CallInfo["client"], "url">) {
  const known = servers.get(baseUrl);
  if (known) return known;
  const url = new URL(baseUrl);
  const server = { attributes: serverAttributes(url), pathname: url.pathname.replace(/\/$/, "") };
  setNewest(servers, baseUrl, server, MAX_SERVERS);
  return server;
}

/** The attributes that all spans and metrics of an endpoint share. */
export interface TracedEndpoint {
  /** The name of its spans. */
  name: string;
  attributes: Attributes;
}

/** Endpoints by base URL, then by method and path. Paths that contain values are not kept. */
const endpoints = new Map<string, Map<string, TracedEndpoint>>();

/**
 * Returns the attributes of the endpoint of a call. They are cached, because even an SDK that samples nothing reads
 * them at every call.
 */
export function tracedEndpointOf(info: Pick<CallInfo, "method" | "path" | "client">): TracedEndpoint {
  const { method, path, client } = info;
  let known = endpoints.get(client.url);
  if (!known) {
    known = new Map();
    setNewest(endpoints, client.url, known, MAX_SERVERS);
  }
  // Paths begin with a slash and methods do not, so one string can name both.
  const key = method === "GET" ? path : method + path;
  const kept = known.get(key);
  if (kept) return kept;
  const attributes = callAttributes(info);
  const template = attributes["url.template"];
  const endpoint = { attributes, name: template === undefined ? method : `${method} ${template}` };
  if (LITERALS.has(path)) known.set(key, endpoint);
  return endpoint;
}

/**
 * Returns the attributes of a call. They have few different values, because metrics use them. Both objects are written
 * out: an SDK reads an object that was created by spreading others three times slower.
 */
function callAttributes({ method, path, client }: Pick<CallInfo, "method" | "path" | "client">): Attributes {
  const { attributes, pathname } = serverOf(client);
  const { "server.address": address, "server.port": port } = attributes;
  const template = findUrlTemplate(path);
  if (template === undefined) return { "http.request.method": method, "server.address": address, "server.port": port };
  return {
    "http.request.method": method,
    "server.address": address,
    "server.port": port,
    // Relative to the server, as the conventions require; `path` is relative to the base URL.
    "url.template": pathname + template,
  };
}

/** How a call or an attempt has ended. */
export const outcomeAttributes = (status: number | undefined, error: string | undefined): Attributes => ({
  ...(status !== undefined && { "http.response.status_code": status }),
  ...(error !== undefined && { "error.type": error }),
});

const TEMPLATES = documentedPaths().map((template) => ({
  template,
  pattern: new RegExp(`^${template.replace(/\{\w+\}/, "[^/]+")}$`),
}));
const LITERALS: ReadonlySet<string> = new Set(TEMPLATES.map(({ template }) => template));

/**
 * Returns the path of an endpoint with parameters instead of values, so that all calls of the endpoint have one name:
 * `/Inventory/{wid}` for `/Inventory/3`. Returns `undefined` for endpoints that are not documented.
 */
export const findUrlTemplate = (path: string): string | undefined =>
  LITERALS.has(path) ? path : TEMPLATES.find(({ pattern }) => pattern.test(path))?.template;
