import type { buildConnector, Dispatcher } from "undici";
import { fieldOf } from "../../errors/unknown-value.js";
import { describeNetworkFailure, ProxyFailure } from "./network-failure.js";
import type { EnvironmentProxy } from "./proxy.js";
import { failWhenCertificateIsRefused } from "./refused-certificate.js";
import { skipInterimResponses } from "./skip-interim.js";

/** Shorter than the timeout of usual servers, so that a write is seldom sent on a connection that is closing. */
const KEEP_ALIVE_TIMEOUT_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;

const SOCKS_PROTOCOL_PATTERN = /^socks5?:$/;

/** A connection was established. */
type ConnectListener = (socket: Parameters<typeof skipInterimResponses>[0]) => void;

/** An agent of undici that connects through a proxy, if there is one. */
export function createAgent(
  undici: typeof import("undici"),
  proxy: EnvironmentProxy | undefined,
  onConnect: ConnectListener,
): Dispatcher {
  const { Agent, buildConnector, errors, Pool, ProxyAgent, Socks5ProxyAgent } = undici;
  const tls = { timeout: CONNECT_TIMEOUT_MS };
  const connectSocket = buildConnector(tls);
  const connect: buildConnector.connector = (target, callback) =>
    connectSocket(target, (error, socket) => {
      if (error) return callback(error, null);
      onConnect(socket);
      callback(null, failWhenCertificateIsRefused(skipInterimResponses(socket)));
    });
  if (!proxy) return new Agent({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS, connect });
  const { url } = proxy;
  // ProxyAgent passes `proxyTls` on to its agent for SOCKS, which would then speak TLS to the proxy.
  if (SOCKS_PROTOCOL_PATTERN.test(url.protocol)) return new Socks5ProxyAgent(url);
  return new ProxyAgent({
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    uri: url.href,
    proxyTls: tls,
    requestTls: tls,
    factory(origin, poolOptions) {
      const tunnel = fieldOf(poolOptions, "connect");
      return new Pool(new URL(origin), {
        ...poolOptions,
        ...(isConnector(tunnel) && { connect: connectThroughProxy(tunnel, proxy) }),
      });
    },
  });

  /**
   * Connects through the proxy. undici would wait 300 s for its response, and would connect again and again, for requests
   * that have ended too, when the proxy closes the connection: https://github.com/nodejs/undici/issues/3897
   */
  function connectThroughProxy(tunnel: buildConnector.connector, proxy: EnvironmentProxy): buildConnector.connector {
    return (target, callback) => {
      const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
      tunnel(Object.assign({ signal }, target), (error, socket) => {
        if (!error) {
          onConnect(socket);
          return callback(null, failWhenCertificateIsRefused(skipInterimResponses(socket)));
        }
        const cause = signal.aborted
          ? new errors.ConnectTimeoutError(`no response to CONNECT within ${CONNECT_TIMEOUT_MS / 1_000} s`)
          : error;
        callback(describeNetworkFailure(cause) ? new ProxyFailure(proxy, cause) : cause, null);
      });
    };
  }
}

const isConnector = (value: unknown): value is buildConnector.connector => typeof value === "function";
