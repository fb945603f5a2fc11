import type { Attributes } from "@opentelemetry/api";
import type { CallInfo } from "../client/for-add-ons.js";
import { documentedPaths } from "../service/operations.js";

// Names of the semantic conventions, so that their package need not be installed. `url.template` is in development.

export const serverAttributes = ({ hostname, port, protocol }: URL): Attributes => ({
  "server.address": hostname,
  "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
});

/** The attributes that all spans and metrics of a call share. Few different values, since metrics use them. */
export function callAttributes({ method, path, url }: Pick<CallInfo, "method" | "path" | "url">): Attributes {
  const address = new URL(url);
  const template = findUrlTemplate(path);
  return {
    "http.request.method": method,
    ...serverAttributes(address),
    // Relative to the server, as the conventions require; `path` is relative to the base URL.
    ...(template && { "url.template": address.pathname.slice(0, -path.length) + template }),
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

/**
 * The path of an endpoint without the values in it, so that all calls of it have one name: `/Inventory/{wid}` for
 * `/Inventory/3`. `undefined` for undocumented endpoints; add those that you call.
 */
export const findUrlTemplate = (path: string): string | undefined =>
  TEMPLATES.find(({ pattern }) => pattern.test(path))?.template;
