import { isPassingStatus } from "../../service/status.js";
import { fieldOf, isObject, messageOf, toOneLine } from "../../shared/unknown.js";

/** The meaning of a failure of the network, for the message. It does not say whether anything was sent: only the transport knows that. */
export interface NetworkFailure {
  /** What happened. */
  problem: string;
  /** The system's own words, with the code and the addresses, in one line. */
  detail: string;
  /** What to do, as a sentence; empty if there is nothing to do except try again later. */
  advice: string;
  /** Whether another attempt would fail in the same way. */
  permanent: boolean;
  /** Whether nothing listens on the port, on this machine. */
  isRefusedHere?: boolean;
}

type Rule = readonly [pattern: Pick<RegExp, "test">, problem: string, advice?: string, permanent?: "permanent"];

const CHECK_ADDRESS = "Check the scheme, host and port in baseUrl.";
const CHECK_NETWORK = "Check the network and baseUrl.";
const CHECK_PROXY =
  "Check the address, user name and password in HTTPS_PROXY and HTTP_PROXY, or add the host to NO_PROXY.";
const CHECK_CERTIFICATE =
  "Check the host name and the clock, name the issuer's file in NODE_EXTRA_CA_CERTS, or pass a dispatcher with connect: { ca }.";

/** Whether a proxy refuses to connect, as undici or another fetch function reports it: a status that does not pass. */
function isRefusedByProxy(text: string): boolean {
  const [, status] = /Proxy response \((\d+)\) !== 200/.exec(text) ?? [];
  return status === undefined ? text.includes("(407)") : !isPassingStatus(Number(status));
}

/** The first match applies, to `CODE message`. Codes of Node.js, OpenSSL and undici, some of Bun, and messages of Deno and Workers. */
const RULES: readonly Rule[] = [
  [{ test: isRefusedByProxy }, "the proxy refused to connect", CHECK_PROXY, "permanent"],
  [/Proxy response \(|^UND_ERR_SOCKS5|SOCKS5/, "the proxy failed", CHECK_PROXY],
  [/^(ECONNREFUSED|ConnectionRefused) /, "the connection was refused", CHECK_ADDRESS],
  [/^ENOTFOUND /, "the host name was not found", CHECK_ADDRESS],
  [/^EAI_\w+ /, "the host name could not be looked up", "Check the DNS of this machine."],
  [
    /^(EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|FailedToOpenSocket) /,
    "the host cannot be reached",
    CHECK_NETWORK,
  ],
  [/^UND_ERR_CONNECT_TIMEOUT /, "connecting took too long", CHECK_NETWORK],
  [
    /^(CERT_\w+|CRL_\w+|ERROR_IN_C\w+|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|\w*SELF_SIGNED\w*|UNABLE_TO_\w+|HOSTNAME_MISMATCH|ERR_TLS_CERT_\w+|UND_ERR_PRX_TLS) |invalid peer certificate/,
    "the server's certificate was refused",
    CHECK_CERTIFICATE,
    "permanent",
  ],
  [
    /^(EPROTO|ERR_SSL_\w+) .*(wrong version number|packet length too long|http request)/i,
    "the server does not speak https on this port",
    CHECK_ADDRESS,
    "permanent",
  ],
  [/^(EPROTO|ERR_SSL_\w+|ERR_TLS_\w+) /, "TLS failed"],
  [/^(UND_MOCK_ERR_|InternalError \[MSW\] )/, "no mock response is defined for the request", "", "permanent"],
  [/^UND_ERR_(CLOSED|DESTROYED) /, "the dispatcher is closed", "", "permanent"],
  [
    /^UND_ERR_HEADERS_OVERFLOW /,
    "the headers of the response are larger than undici reads, by default 16 KiB",
    "Find out which proxy or gateway adds them, often as cookies, or pass a dispatcher with a larger maxHeaderSize.",
    "permanent",
  ],
  [
    /^UND_ERR_SOCKET bad (response|upgrade)$/,
    "the response begins with 100 Continue or 101 Switching Protocols, which were not asked for and which undici cannot read",
    "Configure the service, or the proxy in front of it, not to send them.",
    "permanent",
  ],
  [/^(HPE_\w+|HTTPParserError|ERR_ASSERTION) /, "the response is not HTTP"],
  [
    /^(ECONNRESET|ECONNABORTED|ENOTCONN|EPIPE|ETIMEDOUT|ENOBUFS|ERR_STREAM_PREMATURE_CLOSE|ConnectionClosed|UND_ERR_\w+) |^Error (error sending request |Network connection lost|internal error; reference = )|client error \(/,
    "the connection broke",
  ],
];

/** Matches a refused connection to a loopback address, as Node.js reports it. */
const REFUSED_HERE_PATTERN = /^ECONNREFUSED .*ECONNREFUSED (127\.|::1|::ffff:127\.)/;

/** There is no connection through the proxy of the environment. */
export class ProxyFailure extends Error {
  constructor(cause: unknown) {
    super(`proxy: ${toOneLine(messageOf(cause))}`, { cause });
  }
}

/** Messages with which fetch functions report a failure of the network: undici, browsers and msw, Deno, Workers, React Native. */
const FETCH_FAILED_PATTERN =
  /^(fetch failed|terminated|failed to fetch|networkerror when attempting|load failed|error sending request|network (request failed|connection lost|error))/i;

/** Classifies a failure of the network; `undefined` for any other exception. Searches the causes, too, since fetch functions wrap failures. */
export function describeNetworkFailure(error: unknown): NetworkFailure | undefined {
  try {
    return classify(error, 0);
  } catch {
    // A getter of the error has thrown.
    return undefined;
  }
}

const MAX_CAUSES = 8;
/** System calls on a socket. Others, such as `open`, come from the caller's own code. */
const SOCKET_CALLS: ReadonlySet<unknown> = new Set(["connect", "getaddrinfo", "read", "write", "shutdown"]);

function classify(error: unknown, depth: number): NetworkFailure | undefined {
  if (!isObject(error) || depth > MAX_CAUSES) return undefined;
  if (error instanceof ProxyFailure) {
    const inner = classify(error.cause, depth + 1);
    const advice = inner?.permanent ? inner.advice : CHECK_PROXY;
    return inner && { ...inner, problem: `through the proxy: ${inner.problem}`, advice, isRefusedHere: false };
  }
  // The addresses of one host were tried in turn.
  const errors = fieldOf(error, "errors");
  const several = Array.isArray(errors) ? errors.map((one) => classify(one, depth + 1)) : [];
  const [first] = several;
  if (first) {
    const isRefusedHere = several.every((failure) => failure?.isRefusedHere === true);
    return { ...first, isRefusedHere, detail: several.map((failure) => failure?.detail ?? "").join("; ") };
  }
  const message = messageOf(error instanceof Error ? error : fieldOf(error, "message"));
  const given = fieldOf(error, "code");
  const code = typeof given === "string" ? given : undefined;
  const text = `${code ?? fieldOf(error, "name")} ${message}`;
  const rule = RULES.find(([pattern]) => pattern.test(text));
  // A message such as "other side closed" does not say much without its code.
  const detail = shorten(message.includes(code ?? "") ? message : text);
  if (rule) {
    const [, problem, advice = "", permanent] = rule;
    return {
      problem,
      detail,
      advice,
      permanent: permanent !== undefined,
      isRefusedHere: REFUSED_HERE_PATTERN.test(text),
    };
  }
  // A code that is rare on sockets.
  if (SOCKET_CALLS.has(fieldOf(error, "syscall")))
    return { problem: "the connection broke", detail, advice: "", permanent: false };
  const cause = fieldOf(error, "cause");
  // If the cause is no failure of the network, neither is this error. The cause of msw's error is a response.
  if (typeof fieldOf(cause, "message") === "string") return classify(cause, depth + 1);
  if (fieldOf(error, "name") !== "TypeError" || !FETCH_FAILED_PATTERN.test(message)) return undefined;
  return { problem: "the connection broke", detail, advice: "", permanent: false };
}

const OPENSSL_REASON_PATTERN = /[\dA-F]+:error:[^:]*:SSL routines:[^:]*:([^:\n]+).*/;
const MAX_DETAIL_LENGTH = 300;

function shorten(message: string): string {
  const line = toOneLine(message.replace(OPENSSL_REASON_PATTERN, "$1"));
  return line.length > MAX_DETAIL_LENGTH ? `${line.slice(0, MAX_DETAIL_LENGTH)}…` : line;
}
