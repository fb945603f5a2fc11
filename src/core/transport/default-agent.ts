import type { buildConnector, Dispatcher } from "undici";
import { fieldOf } from "../../errors/unknown-value.js";
import { describeNetworkFailure, ProxyFailure } from "./network-failure.js";
import { type EnvironmentProxy, findEnvironmentProxy, originOfUrl } from "./proxy.js";
import { failWhenCertificateIsRefused } from "./refused-certificate.js";
import { skipInterimResponses } from "./skip-interim.js";

/** Shorter than the timeout of usual servers, so that a write is seldom sent on a connection that is closing. */
const KEEP_ALIVE_TIMEOUT_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** A connection was established. */
type ConnectListener = (socket: Parameters<typeof skipInterimResponses>[0], proxy?: EnvironmentProxy) => void;

/** An agent of undici. It uses the proxy that the environment variables set for the service, if any. */
export function createAgent(undici: typeof import("undici"), base: URL, onConnect: ConnectListener): Dispatcher {
  const proxy = findEnvironmentProxy(base);
  const { Agent, buildConnector, EnvHttpProxyAgent, errors, Pool } = undici;
  const tls = { timeout: CONNECT_TIMEOUT_MS };
  const connectSocket = buildConnector(tls);
  const connect: buildConnector.connector = (target, callback) =>
    connectSocket(target, (error, socket) => {
      if (error) return callback(error, null);
      onConnect(socket);
      callback(null, failWhenCertificateIsRefused(skipInterimResponses(socket)));
    });
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
        if (!error) {
          onConnect(socket, proxy);
          return callback(null, failWhenCertificateIsRefused(skipInterimResponses(socket)));
        }
        const cause = signal.aborted
          ? new errors.ConnectTimeoutError(`no response to CONNECT within ${CONNECT_TIMEOUT_MS / 1_000} s`)
          : error;
        callback(describeNetworkFailure(cause) ? new ProxyFailure(originOfUrl(url), variable, cause) : cause, null);
      });
    };
  }
}

const isConnector = (value: unknown): value is buildConnector.connector => typeof value === "function";
