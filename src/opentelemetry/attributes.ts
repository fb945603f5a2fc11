import type { Attributes } from "@opentelemetry/api";
import type { CallInfo } from "../client/for-add-ons.js";
import { documentedPaths } from "../service/operations.js";

// Copied from the semantic conventions, so that their package need not be installed. `url.template` is in development.
export const ERROR_TYPE_ATTRIBUTE = "error.type";
export const REQUEST_METHOD_ATTRIBUTE = "http.request.method";
export const RESEND_COUNT_ATTRIBUTE = "http.request.resend_count";
export const STATUS_CODE_ATTRIBUTE = "http.response.status_code";
export const SERVER_ADDRESS_ATTRIBUTE = "server.address";
export const SERVER_PORT_ATTRIBUTE = "server.port";
export const URL_FULL_ATTRIBUTE = "url.full";
export const URL_TEMPLATE_ATTRIBUTE = "url.template";

export function serverAttributes({ hostname, port, protocol }: URL): Attributes {
  return {
    [SERVER_ADDRESS_ATTRIBUTE]: hostname,
    [SERVER_PORT_ATTRIBUTE]: Number(port) || (protocol === "https:" ? 443 : 80),
  };
}

/** The attributes that all spans and metrics of a call share. Few different values, since metrics use them. */
export function callAttributes({ method, path, url }: Pick<CallInfo, "method" | "path" | "url">): Attributes {
  const address = new URL(url);
  const template = findUrlTemplate(path);
  return {
    [REQUEST_METHOD_ATTRIBUTE]: method,
    ...serverAttributes(address),
    // Relative to the server, as the conventions require; `path` is relative to the base URL.
    ...(template && { [URL_TEMPLATE_ATTRIBUTE]: address.pathname.slice(0, -path.length) + template }),
  };
}

/** The attributes of a response. A status from 400 is an error of its own type. */
export const statusAttributes = (status: number | undefined): Attributes => ({
  ...(status !== undefined && { [STATUS_CODE_ATTRIBUTE]: status }),
  ...(status !== undefined && status >= 400 && { [ERROR_TYPE_ATTRIBUTE]: String(status) }),
});

export const errorAttributes = (error: string | undefined): Attributes =>
  error === undefined ? {} : { [ERROR_TYPE_ATTRIBUTE]: error };

const URL_TEMPLATE_PATTERNS = documentedPaths().map((template) => ({
  template,
  pattern: new RegExp(`^${template.replace(/\{\w+\}/, "[^/]+")}$`),
}));

/**
 * The path of an endpoint without the values in it, so that all calls of it have one name: `/Inventory/{wid}` for
 * `/Inventory/3`. `undefined` for undocumented endpoints; add those that you call.
 */
export function findUrlTemplate(path: string): string | undefined {
  return URL_TEMPLATE_PATTERNS.find(({ pattern }) => pattern.test(path))?.template;
}
