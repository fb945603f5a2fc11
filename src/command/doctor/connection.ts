import { isIP } from "node:net";
import { connect } from "node:tls";
import { isLoopbackHost } from "../../client/for-add-ons.js";
import { type Finding, note, ok, problem } from "./finding.js";

const SOON_MS = 14 * 24 * 3_600_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** Host and proxy. */
export function describeAddress(url: URL): string {
  const variable = proxyVariableFor(url);
  return variable ? `${url.host} through the proxy of ${variable}` : `${url.host}, without a proxy`;
}

/** The variable of the environment that names a proxy for the service, unless NO_PROXY names the service. */
function proxyVariableFor({ protocol, hostname, port }: URL): string | undefined {
  if (protocol === "http:" && isLoopbackHost(hostname)) return undefined;
  const excluded = (process.env.no_proxy ?? process.env.NO_PROXY ?? "").split(/[,\s]+/).some((entry) => {
    const [, host = entry, ofPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
    if (ofPort !== undefined && ofPort !== (port || (protocol === "https:" ? "443" : "80"))) return false;
    return host === "*" || (host !== "" && `.${hostname}`.endsWith(`.${host.replace(/^\*?\./, "")}`));
  });
  if (excluded) return undefined;
  const names = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"];
  return names.slice(protocol === "https:" ? 0 : 2).find((name) => process.env[name]);
}

/** TLS version, trust in the certificate and its expiry. */
export async function tlsFindings(url: URL, signal: AbortSignal | undefined): Promise<Finding[]> {
  const findings: Finding[] = [];
  if (url.protocol === "http:") {
    if (!isLoopbackHost(url.hostname))
      findings.push(note("TLS", "plain http: the secret and the token are not encrypted", "Use https:."));
    return findings;
  }
  if (process.env.NODE_TLS_REJECT_UNAUTHORIZED === "0") {
    const hint = "Remove this variable. NODE_EXTRA_CA_CERTS names the file of an authority of your own.";
    findings.push(note("TLS", "certificates are not checked: NODE_TLS_REJECT_UNAUTHORIZED is 0", hint));
    return findings;
  }
  if (proxyVariableFor(url)) return findings;
  const certificate = await readCertificate(url, signal);
  if (certificate) findings.push(certificateFinding(certificate));
  return findings;
}

interface Certificate {
  protocol: string;
  validTo: number;
  /** Code of the reason why the certificate is not trusted. */
  distrust: string | undefined;
}

const TRUST_HINT =
  "If the authority of the certificate is your own, set NODE_EXTRA_CA_CERTS to the file of its certificate.";

function certificateFinding({ protocol, validTo, distrust }: Certificate): Finding {
  const date = new Date(validTo).toISOString().slice(0, 10);
  const summary = `${protocol}, certificate valid until ${date}`;
  if (validTo < Date.now())
    return problem("TLS", `the certificate expired on ${date}`, "Ask the operators to renew it.");
  if (distrust === "ERR_TLS_CERT_ALTNAME_INVALID")
    return problem("TLS", "the certificate is for another host name", "Check the host name of the base URL.");
  if (distrust !== undefined) return problem("TLS", `the certificate is not trusted (${distrust})`, TRUST_HINT);
  if (validTo - Date.now() < SOON_MS) return note("TLS", summary, "It expires soon: ask the operators to renew it.");
  return ok("TLS", summary);
}

/** Undefined if there is no TLS connection: the token request reports why. The certificate is only read, not trusted. */
function readCertificate({ hostname, port }: URL, signal: AbortSignal | undefined): Promise<Certificate | undefined> {
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(port || 443),
      ...(isIP(host) === 0 && { servername: host }),
      rejectUnauthorized: false,
    });
    socket.setTimeout(CONNECT_TIMEOUT_MS);
    const finish = (certificate?: Certificate) => {
      signal?.removeEventListener("abort", abandon);
      socket.destroy();
      resolve(certificate);
    };
    socket.once("secureConnect", () => {
      const { valid_to } = socket.getPeerCertificate();
      if (!valid_to) return finish();
      // The declared type is Error, but Node.js assigns the code as a string.
      const distrust = socket.authorized ? undefined : String(socket.authorizationError);
      finish({ protocol: socket.getProtocol() ?? "TLS", validTo: Date.parse(valid_to), distrust });
    });
    const abandon = () => finish();
    socket.once("error", abandon);
    socket.once("timeout", abandon);
    signal?.addEventListener("abort", abandon);
  });
}

const DAY_MS = 86_400_000;
const SHORT_TOKEN_MS = 60_000;

export function tokenFinding(lifetimeMs = 0): Finding {
  if (hasNoExpiry(lifetimeMs)) {
    const hint = "It is used until the service refuses it, for a day at most.";
    return note("token", "granted, without a usable expires_in", hint);
  }
  const summary = `granted, valid for ${Math.ceil(lifetimeMs / 1_000)} s`;
  if (lifetimeMs < SHORT_TOKEN_MS) return note("token", summary, "Each new token takes a slot of the rate limit.");
  return ok("token", summary);
}

/** Without a usable `expires_in` the client uses a token for a day. */
const hasNoExpiry = (lifetimeMs: number) => lifetimeMs > 0.99 * DAY_MS;
