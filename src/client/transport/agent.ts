import type { Socket } from "node:net";
import type { buildConnector, Dispatcher } from "undici";
import { environmentVariable } from "../../shared/environment.js";
import { ConfigurationError } from "../../shared/errors/index.js";
import { parseUrl } from "../../shared/url.js";
import { ProxyFailure } from "./network-failure.js";

/**
 * undici takes a connection reset for the end of a body without a length, and reports that end while the socket reports the
 * reset (`onHttpSocketError` in its `client-h1.js`). This notes when a socket reports an error.
 */
export class ResetWatch {
  /** The error that a socket reports at this moment. */
  cause: unknown;
  /** Whether a socket reports an error at this moment. */
  isReporting = false;

  /** Must be called before undici listens to the socket. */
  watch(socket: Socket): void {
    socket.on("error", (error) => {
      this.cause = error;
      this.isReporting = true;
      // After the other listeners: they are called one after the other.
      queueMicrotask(() => this.#end());
    });
    socket.prependListener("close", () => this.#end());
  }

  #end(): void {
    this.isReporting = false;
    this.cause = undefined;
  }
}

/** Shorter than the timeout of usual servers, so that a write is seldom sent on a connection that is closing. */
const KEEP_ALIVE_TIMEOUT_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** How long each address of a host with several addresses is tried before the next one, in ms. */
const ADDRESS_TIMEOUT_MS = 2_000;

const LOOPBACK_HOST_PATTERN = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Whether the host name of a URL is this machine. */
export const isLoopbackHost = (hostname: string) => LOOPBACK_HOST_PATTERN.test(hostname);

/**
 * Creates an agent for the service, which uses the proxy of the environment. Plain http to this machine is never
 * proxied, because it contains the secret. `connecting` receives the connections that are being established without a
 * proxy. `resets` watches all connections.
 */
export function createAgent(
  undici: typeof import("undici"),
  base: URL,
  { timeoutMs, connecting, resets }: { timeoutMs: number; connecting: Set<Socket>; resets: ResetWatch },
): Dispatcher {
  const connectTimeoutMs = Math.min(CONNECT_TIMEOUT_MS, timeoutMs);
  const tls = {
    timeout: connectTimeoutMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: Math.max(10, Math.min(ADDRESS_TIMEOUT_MS, Math.floor(connectTimeoutMs / 4))),
  };
  const agentOptions = { keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS };
  const proxies = { httpProxy: proxyOf("http_proxy"), httpsProxy: proxyOf("https_proxy") };
  const isProxied =
    !(base.protocol === "http:" && isLoopbackHost(base.hostname)) && Object.values(proxies).some(Boolean);
  if (!isProxied)
    return new undici.Agent({
      ...agentOptions,
      connect: withSocketsIn(connecting, resets, undici.buildConnector(tls)),
    });
  const given = Object.entries(proxies).filter(([, address]) => address !== undefined);
  const socks = given
    .map(([, address]) => new URL(String(address)))
    .find(({ protocol }) => protocol.startsWith("socks"));
  return new undici.EnvHttpProxyAgent({
    ...agentOptions,
    connect: tls,
    ...Object.fromEntries(given),
    // undici would speak TLS to a SOCKS proxy, and does not decode its password.
    ...(socks ? decodedLogin(socks) : { proxyTls: tls, requestTls: tls }),
    factory: (origin, poolOptions) =>
      new undici.Pool(origin, withPatientConnector(poolOptions, connectTimeoutMs, resets)),
  });
}

/**
 * Returns a connector that keeps its sockets in the set until they are connected. The connector returns a socket,
 * although its type does not say so.
 */
function withSocketsIn(
  connecting: Set<Socket>,
  resets: ResetWatch,
  connect: buildConnector.connector,
): buildConnector.connector {
  return (target, callback) => {
    const socket = connect(target, (...result) => {
      connecting.delete(socket);
      // undici expects that it is, and changes it when no request needs it.
      socket.ref();
      if (result[1]) resets.watch(result[1]);
      callback(...result);
    }) as unknown as Socket;
    connecting.add(socket);
  };
}

/**
 * undici waits 300 s for the response of a proxy, and connects again and again, 640 times per second, while the proxy closes
 * the connection: https://github.com/nodejs/undici/issues/3897. An error without a code ends that.
 */
function withPatientConnector(options: object, timeoutMs: number, resets: ResetWatch): object {
  const { connect } = options as { connect?: unknown };
  if (!isConnector(connect)) return options;
  const patient: buildConnector.connector = (target, callback) => {
    const signal = AbortSignal.timeout(timeoutMs);
    connect(Object.assign({ signal }, target), (error, socket) => {
      if (!error) {
        resets.watch(socket);
        return callback(null, socket);
      }
      const isLate = signal.aborted && { code: "UND_ERR_CONNECT_TIMEOUT" };
      const cause = isLate ? Object.assign(new Error(`no response within ${timeoutMs} ms`), isLate) : error;
      callback(new ProxyFailure(cause), null);
    });
  };
  return { ...options, connect: patient };
}

const isConnector = (value: unknown): value is buildConnector.connector => typeof value === "function";

const decodedLogin = ({ username, password }: URL) => ({
  username: decodeURIComponent(username),
  password: decodeURIComponent(password),
});

/** The address in a variable of the environment; without a scheme it is `http:`, as in curl. */
function proxyOf(name: string): string | undefined {
  const variable = environmentVariable(name) === undefined ? name.toUpperCase() : name;
  const address = environmentVariable(variable)?.trim();
  if (!address) return undefined;
  const text = address.includes("://") ? address : `http://${address}`;
  const url = parseUrl(text);
  if (url && isProxyUrl(url)) return text;
  // The address is not quoted, since it may contain a password.
  throw new ConfigurationError(
    `environment variable ${variable}: not the address of a proxy. Use the form http://user:password@host:port, with special characters percent-encoded.`,
  );
}

function isProxyUrl({ protocol, hostname, pathname, search, hash, username, password }: URL): boolean {
  if (!/^(https?|socks5?):$/.test(protocol) || hostname === "" || !/^\/?$/.test(pathname + search + hash)) return false;
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}
