import { environmentVariable } from "../../shared/environment.js";
import { ConfigurationError } from "../../shared/errors/index.js";
import { messageOf, toOneLine } from "../../shared/unknown.js";

export interface EnvironmentProxy {
  /** With credentials, if the variable has any. */
  url: URL;
  variable: string;
}

const LOOPBACK_HOST_PATTERN = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Whether the host name of a URL is this machine. */
export const isLoopbackHost = (hostname: string) => LOOPBACK_HOST_PATTERN.test(hostname);

/** The address without credentials. */
export const originOfUrl = ({ protocol, host }: URL) => `${protocol}//${host}`;

/** The lower-case name takes precedence, and the proxy of `http:` also applies to `https:`, as in undici. */
const PROXY_VARIABLES = [
  ["https_proxy", "HTTPS_PROXY"],
  ["http_proxy", "HTTP_PROXY"],
];
const PROXY_PROTOCOLS = ["http:", "https:", "socks5:", "socks:"];

/**
 * The proxy of the environment, unless NO_PROXY lists the service. Plain http to this machine is never proxied, since it
 * contains the secret.
 */
export function findEnvironmentProxy(base: URL): EnvironmentProxy | undefined {
  const { protocol, hostname } = base;
  if ((protocol === "http:" && isLoopbackHost(hostname)) || isInNoProxy(base)) return undefined;
  for (const names of protocol === "https:" ? PROXY_VARIABLES : PROXY_VARIABLES.slice(1)) {
    const variable = names.find((name) => environmentVariable(name) !== undefined);
    const address = variable && environmentVariable(variable)?.trim();
    if (address) return { url: parseProxyUrl(variable, address), variable };
  }
  return undefined;
}

/** Name and address for messages, without credentials. */
export const describeProxy = ({ url, variable }: EnvironmentProxy) => `${originOfUrl(url)} (${variable})`;

/** Hosts, `host:port`, suffixes or `*`, as undici reads them. */
function isInNoProxy({ hostname, port, protocol }: URL): boolean {
  const list = environmentVariable("no_proxy") ?? environmentVariable("NO_PROXY") ?? "";
  const wantedPort = port || (protocol === "https:" ? "443" : "80");
  return list.split(/[,\s]+/).some((entry) => {
    if (entry === "*") return true;
    const [, host = "", entryPort = wantedPort] = /^(?:\*?\.)?(.+?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    return host !== "" && entryPort === wantedPort && `.${hostname}`.endsWith(`.${host}`);
  });
}

/** Without a scheme it is `http:`, as in curl. The error does not quote the address, which may contain a password. */
function parseProxyUrl(variable: string, address: string): URL {
  const text = address.includes("://") ? address : `http://${address}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isProxy = url?.hostname && PROXY_PROTOCOLS.includes(url.protocol) && hasNoPath(url);
  if (isProxy && hasDecodableCredentials(url)) return url;
  throw new ConfigurationError(
    `environment variable ${variable}: not the address of a proxy. Use the form http://user:password@host:port, without a path, with special characters percent-encoded.`,
  );
}

const hasNoPath = ({ pathname, search, hash }: URL) => /^\/?$/.test(pathname + search + hash);

function hasDecodableCredentials({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** A failed connection through the proxy of the environment. It has no code, so that undici does not connect again. */
export class ProxyFailure extends Error {
  readonly variable: string;
  /** Address without credentials, and variable. */
  readonly proxy: string;

  constructor(proxy: EnvironmentProxy, cause: unknown) {
    super(`proxy ${originOfUrl(proxy.url)}: ${toOneLine(messageOf(cause))}`, { cause });
    this.variable = proxy.variable;
    this.proxy = describeProxy(proxy);
  }
}

/** undici, its SOCKS agent, Bun. */
const PROXY_REFUSAL_PATTERN =
  /Proxy response \((\d+)\) !== 200|Proxy Authentication Required \((407)\)|^Proxy refused to open a tunnel: (\d+)/;
const DENO_PROXY_REFUSAL_PATTERN = /client error \(Connect\): (proxy authentication required|unsuccessful tunnel)/;

/** The status with which a proxy refused to connect. Deno reports only 407. */
export function proxyRefusalStatus(message: string): number | "unknown" | undefined {
  const [, ...statuses] = PROXY_REFUSAL_PATTERN.exec(message) ?? [];
  const status = statuses.find((text) => text !== undefined);
  if (status !== undefined) return Number(status);
  const [, reason] = DENO_PROXY_REFUSAL_PATTERN.exec(message) ?? [];
  if (reason === undefined) return undefined;
  return reason === "proxy authentication required" ? 407 : "unknown";
}
