import type { buildConnector, Dispatcher } from "undici";
import { ConfigurationError } from "../../errors/index.js";
import { fieldOf } from "../../errors/unknown-value.js";
import { describeNetworkFailure, ProxyFailure } from "./network-failure.js";
import { failWhenCertificateIsRefused } from "./refused-certificate.js";
import { skipInterimResponses } from "./skip-interim.js";
import type { DispatcherSource } from "./undici.js";

/** Shorter than the timeout of usual servers, so that a write is seldom sent on a connection that is closing. */
const KEEP_ALIVE_TIMEOUT_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;

const LOOPBACK_HOST_PATTERN = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Whether the host name of a URL is this machine. */
export const isLoopbackHost = (hostname: string) => LOOPBACK_HOST_PATTERN.test(hostname);

/**
 * The client's own agent, created at the first request. It uses the proxy that the environment variables set for the
 * service, if any.
 */
export function createDefaultDispatcherSource(base: URL): DispatcherSource {
  let agent: Promise<Dispatcher> | undefined;
  return {
    get() {
      // A failure is not kept: the variable may be corrected.
      agent ??= createAgent(base).catch((error: unknown) => {
        agent = undefined;
        throw error;
      });
      return agent;
    },
    // All calls have ended: only idle connections are left, and those that aborted calls were waiting for.
    close: async () => {
      const created = await agent?.catch(() => undefined);
      await created?.destroy();
    },
  };
}

/** The caller's dispatcher, which stays open when the client closes. */
export function createCallersDispatcherSource(dispatcher: Dispatcher): DispatcherSource {
  return { get: async () => dispatcher, close: async () => {} };
}

async function createAgent(base: URL): Promise<Dispatcher> {
  const proxy = findEnvironmentProxy(base);
  const { Agent, buildConnector, EnvHttpProxyAgent, errors, Pool } = await import("undici");
  const tls = { timeout: CONNECT_TIMEOUT_MS };
  const connectSocket = buildConnector(tls);
  const connect: buildConnector.connector = (target, callback) =>
    connectSocket(target, (error, socket) =>
      error ? callback(error, null) : callback(null, failWhenCertificateIsRefused(skipInterimResponses(socket))),
    );
  const options = { keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS, connect };
  if (!proxy) return new Agent(options);
  const { url, variable } = proxy;
  return new EnvHttpProxyAgent({
    ...options,
    proxyTls: tls,
    requestTls: tls,
    httpProxy: url.href,
    httpsProxy: url.href,
    factory(origin, poolOptions) {
      const tunnel = fieldOf(poolOptions, "connect");
      // For a host in NO_PROXY it is the connector from above.
      return new Pool(
        new URL(origin),
        isConnector(tunnel) && tunnel !== connect
          ? { ...poolOptions, connect: connectThroughProxy(tunnel) }
          : poolOptions,
      );
    },
  });

  /**
   * Connects through the proxy. undici would wait 300 s for its response, and would connect again and again, for requests
   * that have ended too, when the proxy closes the connection: https://github.com/nodejs/undici/issues/3897
   */
  function connectThroughProxy(tunnel: buildConnector.connector): buildConnector.connector {
    return (target, callback) => {
      const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
      tunnel(Object.assign({ signal }, target), (error, socket) => {
        if (!error) return callback(null, failWhenCertificateIsRefused(skipInterimResponses(socket)));
        const cause = signal.aborted
          ? new errors.ConnectTimeoutError(`no response to CONNECT within ${CONNECT_TIMEOUT_MS / 1_000} s`)
          : error;
        callback(describeNetworkFailure(cause) ? new ProxyFailure(url.origin, variable, cause) : cause, null);
      });
    };
  }
}

const isConnector = (value: unknown): value is buildConnector.connector => typeof value === "function";

interface EnvironmentProxy {
  url: URL;
  variable: string;
}

/** The lower-case name takes precedence, and the proxy of `http:` also applies to `https:`, as in undici. */
const PROXY_VARIABLES = [
  ["https_proxy", "HTTPS_PROXY"],
  ["http_proxy", "HTTP_PROXY"],
];
const PROXY_PROTOCOLS = ["http:", "https:", "socks5:", "socks:"];

/** The proxy of the environment. Plain http to this machine is never proxied, since it contains the secret. */
function findEnvironmentProxy({ protocol, hostname }: URL): EnvironmentProxy | undefined {
  if (protocol === "http:" && isLoopbackHost(hostname)) return undefined;
  for (const names of protocol === "https:" ? PROXY_VARIABLES : PROXY_VARIABLES.slice(1)) {
    const variable = names.find((name) => process.env[name] !== undefined);
    const address = variable && process.env[variable]?.trim();
    if (address) return { url: parseProxyUrl(variable, address), variable };
  }
  return undefined;
}

/** Without a scheme it is `http:`, as in curl. The error does not quote the address, which may contain a password. */
function parseProxyUrl(variable: string, address: string): URL {
  const text = address.includes("://") ? address : `http://${address}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.hostname && PROXY_PROTOCOLS.includes(url.protocol) && hasDecodableCredentials(url)) return url;
  throw new ConfigurationError(
    `environment variable ${variable}: not the address of a proxy. Use the form http://user:password@host:port, with special characters percent-encoded.`,
  );
}

function hasDecodableCredentials({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}
