import type { Socket } from "node:net";
import type { buildConnector, Dispatcher } from "undici";
import { fieldOf } from "../../shared/unknown.js";
import { describeNetworkFailure } from "./network-failure.js";
import { type EnvironmentProxy, ProxyFailure } from "./proxy.js";

/** Shorter than the timeout of usual servers, so that a write is seldom sent on a connection that is closing. */
const KEEP_ALIVE_TIMEOUT_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;

const SOCKS_PROTOCOL_PATTERN = /^socks5?:$/;

type ConnectListener = (socket: Socket) => void;

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

/** The alerts of a server that refuses the client's certificate, or requires one. */
const REFUSED_CERTIFICATE_CODE_PATTERN = /^ERR_SSL_\S*ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED)$/;

/**
 * Makes a connection fail with the alert about the client's certificate. With TLS 1.3 it is received after the handshake has
 * ended on this side, and undici reports only that the other side closed the connection.
 */
function failWhenCertificateIsRefused(socket: Socket): Socket {
  return socket.on("error", (error) => {
    if (REFUSED_CERTIFICATE_CODE_PATTERN.test(String(fieldOf(error, "code")))) socket.destroy(error);
  });
}

/** All informational statuses but 101, which ends HTTP. */
const INTERIM_STATUS_LINE_PATTERN = /^HTTP\/1\.1 1(?!01)\d\d/;
const MIN_STATUS_LINE = "HTTP/1.1 100";
const END_OF_HEAD = "\r\n\r\n";
const MAX_HEAD_BYTES = 16_384;

/**
 * Makes a connection skip unsolicited interim responses, as RFC 9110, section 15.2, requires: undici closes the connection at
 * a `100 Continue`. undici sends one request at a time on a connection, so a response begins with the first byte that is
 * read after something was written.
 */
function skipInterimResponses(socket: Socket): Socket {
  const read = socket.read.bind(socket);
  const write: (...args: never[]) => boolean = socket.write;
  let isAtStart = false;
  let buffered: Buffer = Buffer.alloc(0);
  return Object.assign(socket, {
    write(...args: never[]) {
      isAtStart = true;
      return write.apply(socket, args);
    },
    read(size?: number): unknown {
      for (;;) {
        const chunk: unknown = read(size);
        if (!isAtStart || !Buffer.isBuffer(chunk)) return chunk;
        buffered = withoutInterimResponses(buffered.length > 0 ? Buffer.concat([buffered, chunk]) : chunk);
        if (mayBeInterimResponse(buffered) && buffered.length < MAX_HEAD_BYTES) continue;
        isAtStart = false;
        const rest = buffered;
        buffered = Buffer.alloc(0);
        return rest;
      }
    },
  });
}

/** The bytes after the complete interim responses at the beginning. */
function withoutInterimResponses(bytes: Buffer): Buffer {
  let rest = bytes;
  while (INTERIM_STATUS_LINE_PATTERN.test(startOfText(rest))) {
    const end = rest.indexOf(END_OF_HEAD);
    if (end < 0) break;
    rest = rest.subarray(end + END_OF_HEAD.length);
  }
  return rest;
}

/** Whether the bytes, as far as they go, may be the beginning of an interim response. */
function mayBeInterimResponse(bytes: Buffer): boolean {
  const start = startOfText(bytes);
  return INTERIM_STATUS_LINE_PATTERN.test(start + MIN_STATUS_LINE.slice(start.length));
}

const startOfText = (bytes: Buffer) => bytes.toString("latin1", 0, MIN_STATUS_LINE.length);
