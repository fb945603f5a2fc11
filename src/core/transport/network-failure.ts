import { fieldOf, isObject, messageOf } from "../../errors/unknown-value.js";

/** A failure that is known to be a network failure, not an exception of code. */
export interface NetworkFailure {
  /** What happened, for the message. */
  problem: string;
  /** The message of the underlying error, in one line. */
  detail: string;
  /** What to do, as sentences; empty if there is nothing to do except try again later. */
  advice: string;
  /** Whether it happened before any of the request could be sent. */
  notSent: boolean;
  /** Whether another attempt would fail in the same way. */
  permanent: boolean;
}

/** A failed connection through the proxy of the environment. It has no code, so that undici does not connect again. */
export class ProxyFailure extends Error {
  constructor(
    /** Address without credentials. */
    readonly proxy: string,
    /** The environment variable of the address. */
    readonly variable: string,
    cause: unknown,
  ) {
    super(`proxy ${proxy}: ${oneLine(messageOf(cause))}`, { cause });
  }
}

interface FailureRule extends Omit<NetworkFailure, "detail"> {
  /** Matches `CODE message`; without a code it is the name of the error. */
  pattern: RegExp;
}

const beforeSending = (pattern: RegExp, problem: string, advice: string): FailureRule => ({
  pattern,
  problem,
  advice,
  notSent: true,
  permanent: false,
});
const permanent = (pattern: RegExp, problem: string, advice: string): FailureRule => ({
  ...beforeSending(pattern, problem, advice),
  permanent: true,
});
const possiblySent = (pattern: RegExp, problem: string): FailureRule => ({
  ...beforeSending(pattern, problem, ""),
  notSent: false,
});

const CHECK_ADDRESS = "Check the scheme, host and port in baseUrl.";
const TRUST_ISSUER =
  "Name the file with the issuer's certificate in NODE_EXTRA_CA_CERTS, or pass a dispatcher with connect: { ca }.";
const TLS_SETTINGS = "To use TLS settings of your own, pass a dispatcher.";
const CLIENT_CERTIFICATE =
  "If the server requires a client certificate, pass a dispatcher with connect: { cert, key }.";

const NO_CONNECTION = beforeSending(/^/, "no connection could be established", "Check the network and baseUrl.");

/** The first matching rule applies. Codes of Node.js, OpenSSL and undici, and some of Bun. */
const FAILURE_RULES: readonly FailureRule[] = [
  beforeSending(/^(ECONNREFUSED|ConnectionRefused) /, "the connection was refused", CHECK_ADDRESS),
  beforeSending(/^ENOTFOUND /, "the host name was not found", CHECK_ADDRESS),
  beforeSending(/^EAI_\w+ /, "the host name could not be looked up", "Check the DNS of this machine."),
  beforeSending(
    /^(EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|FailedToOpenSocket) /,
    "the host cannot be reached",
    "Check the network and baseUrl.",
  ),
  beforeSending(/^UND_ERR_CONNECT_TIMEOUT /, "connecting took too long", "Check the network and baseUrl."),
  beforeSending(/^ECONNRESET Client network socket disconnected before secure TLS/, "the TLS handshake broke", ""),
  beforeSending(/^UND_ERR_SOCKS5/, "the SOCKS proxy failed", ""),
  permanent(/^Error bad port$/, "fetch does not connect to this port", CHECK_ADDRESS),

  permanent(/^CERT_HAS_EXPIRED /, "the server's certificate has expired", `Have it renewed. ${TLS_SETTINGS}`),
  permanent(/^CERT_NOT_YET_VALID /, "the server's certificate is not valid yet", "Check the clock of this machine."),
  permanent(
    /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH) /,
    "the server's certificate is for another host name",
    `Check the host name in baseUrl. ${TLS_SETTINGS}`,
  ),
  permanent(/^DEPTH_ZERO_SELF_SIGNED_CERT /, "the server's certificate is self-signed", TRUST_ISSUER),
  permanent(
    /^SELF_SIGNED_CERT_IN_CHAIN /,
    "the server's certificate was issued by an authority that is not trusted",
    TRUST_ISSUER,
  ),
  permanent(/^UNABLE_TO_\w+ /, "the issuer of the server's certificate is not known", TRUST_ISSUER),
  permanent(
    /^(CERT_\w+|CRL_\w+|ERROR_IN_C\w+|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|\w*SELF_SIGNED\w*|UND_ERR_PRX_TLS) /,
    "the server's certificate was refused",
    TRUST_ISSUER,
  ),

  // Records that cannot be decrypted: the handshake was over by then.
  possiblySent(/^ERR_SSL_\S*(RECORD_MAC|BAD_RECORD|DECRYPTION_FAILED|UNEXPECTED_EOF) /, "the connection broke"),
  permanent(
    /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST) /,
    "the server does not speak https on this port",
    CHECK_ADDRESS,
  ),
  permanent(
    /^ERR_SSL_\S*ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED) /,
    "the server refused the client's certificate, or requires one",
    CLIENT_CERTIFICATE,
  ),
  permanent(/^(ERR_SSL_\S+|ERR_TLS_\w+|EPROTO) /, "the TLS handshake failed", `${TLS_SETTINGS} ${CLIENT_CERTIFICATE}`),

  permanent(/^UND_ERR_CLOSED /, "the dispatcher is closed", ""),
  { ...permanent(/^UND_ERR_DESTROYED /, "the dispatcher was closed", ""), notSent: false },
  permanent(/^(UND_MOCK_ERR_|InternalError \[MSW\] )/, "no mock response is defined for the request", ""),

  // undici asserts that a status is at least 100.
  possiblySent(/^(HPE_\w+|HTTPParserError|ERR_ASSERTION) /, "the response is not HTTP"),
  possiblySent(/^UND_ERR_(HEADERS|BODY)_TIMEOUT /, "no response in time"),
  possiblySent(
    /^(ECONNRESET|ECONNABORTED|ENOTCONN|EPIPE|ETIMEDOUT|ERR_STREAM_PREMATURE_CLOSE|ConnectionClosed) /,
    "the connection broke",
  ),
  possiblySent(/^UND_ERR_(SOCKET|INFO|ABORTED|RES_\w+|HEADERS_OVERFLOW|REQ_RETRY) /, "the connection broke"),
];

const CONNECTING = /^(connect|getaddrinfo|query\w+)$/;
const PROXY_REFUSAL = /Proxy response \((\d+)\) !== 200|Proxy Authentication Required \((407)\)/;

/** How fetch functions report a failure of the network: undici, browsers and msw, Deno, Workers, React Native. */
const FETCH_FAILED =
  /^(fetch failed|terminated|failed to fetch|networkerror when attempting|load failed|error sending request|network (request failed|connection lost|error))/i;

/**
 * Classifies a network failure; `undefined` for any other exception. Both transports use the same rules. The error and its
 * causes are searched, since fetch functions wrap the original error.
 */
export function networkFailure(error: unknown): NetworkFailure | undefined {
  try {
    return classify(error, new Set());
  } catch {
    // A getter of the error threw.
    return undefined;
  }
}

function classify(error: unknown, seen: Set<unknown>, wrapperMessage = ""): NetworkFailure | undefined {
  if (!isObject(error) || seen.has(error)) return undefined;
  seen.add(error);
  if (error instanceof ProxyFailure) return classifyProxyFailure(error, seen);
  const message = messageOf(error instanceof Error ? error : fieldOf(error, "message"));
  const kind = matchProxyRefusal(message) ?? matchRule(error, message) ?? classifyAggregate(error, seen);
  if (kind) {
    const isConnected = hasOpensslCode(error) && !FETCH_FAILED.test(wrapperMessage);
    return { ...kind, notSent: kind.notSent && !isConnected, detail: shortDetail(message) };
  }
  const cause = fieldOf(error, "cause");
  // A fetch that failed because of an error of another kind is an exception of code.
  if (isErrorLike(cause)) return classify(cause, seen, message);
  if (fieldOf(error, "name") !== "TypeError" || !FETCH_FAILED.test(message)) return undefined;
  const connecting = message.includes("client error (Connect)");
  return { ...(connecting ? NO_CONNECTION : possiblySent(/^/, "the connection broke")), detail: shortDetail(message) };
}

/** A message without line breaks, which OpenSSL puts into its messages. */
export const oneLine = (text: string) =>
  text
    .slice(0, MAX_REASON_LENGTH)
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");

/** An exception of the caller's may quote a whole response. */
const MAX_REASON_LENGTH = 2_000;

const isErrorLike = (value: unknown) => typeof fieldOf(value, "message") === "string";

function matchRule(error: object, message: string): FailureRule | undefined {
  const text = `${errorCode(error, message)} ${message}`;
  const kind = FAILURE_RULES.find(({ pattern }) => pattern.test(text));
  const isConnecting = CONNECTING.test(String(fieldOf(error, "syscall")));
  return isConnecting && !kind?.notSent ? NO_CONNECTION : kind;
}

/**
 * Whether the error has a code of OpenSSL itself. undici's fetch reports such errors only of the handshake; a fetch function
 * on `node:https` only after the handshake, when a write may have been sent (before that, the code is EPROTO).
 */
const hasOpensslCode = (error: object) => /^ERR_SSL_/.test(String(fieldOf(error, "code")));

/** The code; that of OpenSSL if the code only says that a protocol failed. */
function errorCode(error: object, message: string): string {
  const code = fieldOf(error, "code");
  const [, reason] = OPENSSL_REASON.exec(message) ?? [];
  if (code === "EPROTO" && reason) return `ERR_SSL_${reason.trim().toUpperCase().replace(/\W+/g, "_")}`;
  return String(typeof code === "string" ? code : fieldOf(error, "name"));
}

const OPENSSL_REASON = /:SSL routines:[^:]*:([^:\n]+)/;
const LONGEST_DETAIL = 200;

function shortDetail(message: string): string {
  const [, reason] = OPENSSL_REASON.exec(message) ?? [];
  const line = oneLine(reason ?? message);
  return line.length > LONGEST_DETAIL ? `${line.slice(0, LONGEST_DETAIL)}…` : line;
}

function matchProxyRefusal(message: string): FailureRule | undefined {
  const [, refused, unauthorized] = PROXY_REFUSAL.exec(message) ?? [];
  const status = Number(refused ?? unauthorized);
  if (Number.isNaN(status)) return undefined;
  const advice =
    // tinyproxy responds to a wrong password with 401.
    status === 407 || status === 401
      ? "Put a valid user name and password into the proxy's address."
      : "Ask whether the proxy allows the service's host.";
  const refusal = beforeSending(PROXY_REFUSAL, `the proxy refused to connect with status ${status}`, advice);
  return { ...refusal, permanent: status < 500 && status !== 408 && status !== 429 };
}

/** Several addresses of one host were tried. */
function classifyAggregate(error: object, seen: Set<unknown>): Omit<NetworkFailure, "detail"> | undefined {
  const errors = fieldOf(error, "errors");
  if (!Array.isArray(errors)) return undefined;
  const failures = errors.map((one) => classify(one, seen));
  const [first] = failures;
  return first && { ...first, notSent: failures.every((failure) => failure?.notSent === true) };
}

function classifyProxyFailure(
  { proxy, variable, cause }: ProxyFailure,
  seen: Set<unknown>,
): NetworkFailure | undefined {
  const inner = classify(cause, seen);
  return (
    inner && {
      ...inner,
      problem: `no connection through the proxy ${proxy} (${variable}): ${inner.problem}`,
      advice:
        inner.permanent && inner.advice !== CHECK_ADDRESS
          ? inner.advice
          : `Check ${variable}, or add the service's host to NO_PROXY.`,
      notSent: true,
    }
  );
}
