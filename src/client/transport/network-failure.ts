import { wording } from "../../shared/errors/wording.js";
import { fieldOf, isObject, messageOf, toOneLine } from "../../shared/unknown.js";
import { ProxyFailure, proxyRefusalStatus } from "./proxy.js";

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
  /** A proxy was reached, and refused to connect to the service. */
  isProxyRefusal?: boolean;
}

interface FailureRule extends Omit<NetworkFailure, "detail" | "advice"> {
  advice: Advice;
  /** Matches `CODE message`; without a code it is the name of the error. */
  pattern: RegExp;
}

/** Sentences, which depend on who reads the message. */
type Advice = () => string;
const NO_ADVICE: Advice = () => "";

const notSentRule = (pattern: RegExp, problem: string, advice: Advice = NO_ADVICE): FailureRule => ({
  pattern,
  problem,
  advice,
  notSent: true,
  permanent: false,
});
const permanentFailureRule = (pattern: RegExp, problem: string, advice?: Advice): FailureRule => ({
  ...notSentRule(pattern, problem, advice),
  permanent: true,
});
const possiblySentRule = (pattern: RegExp, problem: string): FailureRule => ({
  ...notSentRule(pattern, problem),
  notSent: false,
});

const CHECK_ADDRESS_ADVICE = () => `Check the scheme, host and port in ${wording().baseUrl}.`;
const CHECK_NETWORK_ADVICE = () => `Check the network and ${wording().baseUrl}.`;
const TRUST_ISSUER_ADVICE = () =>
  `Name the file with the issuer's certificate in NODE_EXTRA_CA_CERTS${wording().orTrustIssuer}.`;
const TLS_SETTINGS_ADVICE = () => `${wording().useOwnTls} ${wording().useClientCertificate}`.trim();

const NO_CONNECTION_RULE = notSentRule(/^/, "no connection could be established", CHECK_NETWORK_ADVICE);

/** The first matching rule applies. Codes of Node.js, OpenSSL and undici, some of Bun, and messages of Deno and Workers. */
const FAILURE_RULES: readonly FailureRule[] = [
  notSentRule(/^(ECONNREFUSED|ConnectionRefused) /, "the connection was refused", CHECK_ADDRESS_ADVICE),
  notSentRule(/^ENOTFOUND /, "the host name was not found", CHECK_ADDRESS_ADVICE),
  notSentRule(/^EAI_\w+ /, "the host name could not be looked up", () => "Check the DNS of this machine."),
  notSentRule(
    /^(EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|FailedToOpenSocket) /,
    "the host cannot be reached",
    CHECK_NETWORK_ADVICE,
  ),
  notSentRule(/^UND_ERR_CONNECT_TIMEOUT /, "connecting took too long", CHECK_NETWORK_ADVICE),
  notSentRule(/^ECONNRESET Client network socket disconnected before secure TLS/, "the TLS handshake broke"),
  notSentRule(/^(UND_ERR_SOCKS5|Error SOCKS5 \w+ timeout$)/, "the SOCKS proxy failed"),
  permanentFailureRule(
    /^UnsupportedProxyProtocol /,
    "fetch supports no proxy of this protocol",
    () => "Use a proxy whose address begins with http: or https:.",
  ),
  permanentFailureRule(/^Error bad port$/, "fetch does not connect to this port", CHECK_ADDRESS_ADVICE),

  permanentFailureRule(
    /^CERT_HAS_EXPIRED /,
    "the server's certificate has expired",
    () => `Have it renewed. ${wording().useOwnTls}`,
  ),
  permanentFailureRule(
    /^CERT_NOT_YET_VALID /,
    "the server's certificate is not valid yet",
    () => "Check the clock of this machine.",
  ),
  permanentFailureRule(
    /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH) /,
    "the server's certificate is for another host name",
    () => `Check the host name in ${wording().baseUrl}. ${wording().useOwnTls}`,
  ),
  permanentFailureRule(/^DEPTH_ZERO_SELF_SIGNED_CERT /, "the server's certificate is self-signed", TRUST_ISSUER_ADVICE),
  permanentFailureRule(
    /^SELF_SIGNED_CERT_IN_CHAIN /,
    "the server's certificate was issued by an authority that is not trusted",
    TRUST_ISSUER_ADVICE,
  ),
  permanentFailureRule(/^UNABLE_TO_\w+ /, "the issuer of the server's certificate is not known", TRUST_ISSUER_ADVICE),
  permanentFailureRule(
    /^(CERT_\w+|CRL_\w+|ERROR_IN_C\w+|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|\w*SELF_SIGNED\w*|UND_ERR_PRX_TLS) /,
    "the server's certificate was refused",
    TRUST_ISSUER_ADVICE,
  ),

  // Records that cannot be decrypted: the handshake was over by then.
  possiblySentRule(/^ERR_SSL_\S*(RECORD_MAC|BAD_RECORD|DECRYPTION_FAILED|UNEXPECTED_EOF) /, "the connection broke"),
  permanentFailureRule(
    /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST) /,
    "the server does not speak https on this port",
    CHECK_ADDRESS_ADVICE,
  ),
  permanentFailureRule(
    /^ERR_SSL_\S*ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED) /,
    "the server refused the client's certificate, or requires one",
    () => wording().useClientCertificate,
  ),
  permanentFailureRule(/^(ERR_SSL_\S+|ERR_TLS_\w+|EPROTO) /, "the TLS handshake failed", TLS_SETTINGS_ADVICE),

  permanentFailureRule(
    /client error \(Connect\): invalid peer certificate/,
    "the server's certificate was refused",
    TRUST_ISSUER_ADVICE,
  ),
  { ...NO_CONNECTION_RULE, pattern: /client error \(Connect\)/ },
  // Workers report a refused connection and a lost response in the same words.
  possiblySentRule(
    /^Error (error sending request |Network connection lost|internal error; reference = )/,
    "the connection broke",
  ),

  permanentFailureRule(/^UND_ERR_CLOSED /, "the dispatcher is closed"),
  { ...permanentFailureRule(/^UND_ERR_DESTROYED /, "the dispatcher was closed"), notSent: false },
  permanentFailureRule(/^(UND_MOCK_ERR_|InternalError \[MSW\] )/, "no mock response is defined for the request"),

  // undici asserts that a status is at least 100.
  possiblySentRule(/^(HPE_\w+|HTTPParserError|ERR_ASSERTION) /, "the response is not HTTP"),
  possiblySentRule(/^UND_ERR_(HEADERS|BODY)_TIMEOUT /, "no response in time"),
  possiblySentRule(
    /^(ECONNRESET|ECONNABORTED|ENOTCONN|EPIPE|ETIMEDOUT|ERR_STREAM_PREMATURE_CLOSE|ConnectionClosed) /,
    "the connection broke",
  ),
  possiblySentRule(/^UND_ERR_(SOCKET|INFO|ABORTED|RES_\w+|HEADERS_OVERFLOW|REQ_RETRY) /, "the connection broke"),
];

const CONNECTING_SYSCALL_PATTERN = /^(connect|getaddrinfo|query\w+)$/;
/** How fetch functions report a failure of the network: undici, browsers and msw, Deno, Workers, React Native. */
const FETCH_FAILED_MESSAGE_PATTERN =
  /^(fetch failed|terminated|failed to fetch|networkerror when attempting|load failed|error sending request|network (request failed|connection lost|error))/i;

/**
 * Classifies a network failure; `undefined` for any other exception. Both transports use the same rules. The error and its
 * causes are searched, since fetch functions wrap the original error.
 */
export function describeNetworkFailure(error: unknown): NetworkFailure | undefined {
  try {
    return classifyFailure(error, new Set());
  } catch {
    // A getter of the error threw.
    return undefined;
  }
}

function classifyFailure(error: unknown, seen: Set<unknown>, wrapperMessage = ""): NetworkFailure | undefined {
  if (!isObject(error) || seen.has(error)) return undefined;
  seen.add(error);
  if (error instanceof ProxyFailure) return classifyProxyFailure(error, seen);
  const message = messageOf(error instanceof Error ? error : fieldOf(error, "message"));
  const rule = proxyRefusalRule(message) ?? findFailureRule(error, message);
  const kind = rule ? { ...rule, advice: rule.advice() } : classifyAggregateError(error, seen);
  if (kind) {
    const isConnected = hasOpensslCode(error) && !FETCH_FAILED_MESSAGE_PATTERN.test(wrapperMessage);
    return { ...kind, notSent: kind.notSent && !isConnected, detail: shortenDetail(message) };
  }
  const cause = fieldOf(error, "cause");
  // A fetch that failed because of an error of another kind is an exception of code.
  if (isErrorLike(cause)) return classifyFailure(cause, seen, message);
  if (fieldOf(error, "name") !== "TypeError" || !FETCH_FAILED_MESSAGE_PATTERN.test(message)) return undefined;
  return { ...possiblySentRule(/^/, "the connection broke"), advice: "", detail: shortenDetail(message) };
}

const isErrorLike = (value: unknown) => typeof fieldOf(value, "message") === "string";

function findFailureRule(error: object, message: string): FailureRule | undefined {
  const text = `${errorCodeOf(error, message)} ${message}`;
  const kind = FAILURE_RULES.find(({ pattern }) => pattern.test(text));
  const isConnecting = CONNECTING_SYSCALL_PATTERN.test(String(fieldOf(error, "syscall")));
  return isConnecting && !kind?.notSent ? NO_CONNECTION_RULE : kind;
}

/**
 * Whether the error has a code of OpenSSL itself. undici's fetch reports such errors only of the handshake; a fetch function
 * on `node:https` only after the handshake, when a write may have been sent (before that, the code is EPROTO).
 */
const hasOpensslCode = (error: object) => /^ERR_SSL_/.test(String(fieldOf(error, "code")));

/** The code; that of OpenSSL if the code only says that a protocol failed. */
function errorCodeOf(error: object, message: string): string {
  const code = fieldOf(error, "code");
  const [, reason] = OPENSSL_REASON_PATTERN.exec(message) ?? [];
  if (code === "EPROTO" && reason) return `ERR_SSL_${reason.trim().toUpperCase().replace(/\W+/g, "_")}`;
  return String(typeof code === "string" ? code : fieldOf(error, "name"));
}

const OPENSSL_REASON_PATTERN = /:SSL routines:[^:]*:([^:\n]+)/;
const MAX_DETAIL_LENGTH = 200;

function shortenDetail(message: string): string {
  const [, reason] = OPENSSL_REASON_PATTERN.exec(message) ?? [];
  const line = toOneLine(reason ?? message);
  return line.length > MAX_DETAIL_LENGTH ? `${line.slice(0, MAX_DETAIL_LENGTH)}…` : line;
}

function proxyRefusalRule(message: string): FailureRule | undefined {
  const status = proxyRefusalStatus(message);
  if (status === undefined) return undefined;
  const advice =
    // tinyproxy responds to a wrong password with 401.
    status === 407 || status === 401
      ? "Put a valid user name and password into the proxy's address."
      : "Ask whether the proxy allows the service's host.";
  const problem = `the proxy refused to connect${status === "unknown" ? "" : ` with status ${status}`}`;
  const permanent = status !== "unknown" && status < 500 && status !== 408 && status !== 429;
  return { ...notSentRule(/^/, problem, () => advice), permanent, isProxyRefusal: true };
}

/** Several addresses of one host were tried. */
function classifyAggregateError(error: object, seen: Set<unknown>): Omit<NetworkFailure, "detail"> | undefined {
  const errors = fieldOf(error, "errors");
  if (!Array.isArray(errors)) return undefined;
  const failures = errors.map((one) => classifyFailure(one, seen));
  const [first] = failures;
  return first && { ...first, notSent: failures.every((failure) => failure?.notSent === true) };
}

function classifyProxyFailure(
  { proxy, variable, cause }: ProxyFailure,
  seen: Set<unknown>,
): NetworkFailure | undefined {
  const inner = classifyFailure(cause, seen);
  return (
    inner && {
      ...inner,
      problem: `no connection through the proxy ${proxy}: ${inner.problem}`,
      advice:
        inner.permanent && inner.advice !== CHECK_ADDRESS_ADVICE()
          ? inner.advice
          : `Check ${variable}, or add the service's host to NO_PROXY.`,
      notSent: true,
    }
  );
}
