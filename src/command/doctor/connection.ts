import { isIP } from "node:net";
import { connect } from "node:tls";
import { describeProxy, findEnvironmentProxy, isLoopbackHost } from "../../core/transport/proxy.js";
import { type Finding, note, ok, problem } from "./finding.js";

const SOON_MS = 14 * 24 * 3_600_000;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * How the service is reached: proxy, TLS version, expiry of the certificate.
 * @throws ConfigurationError if the environment names a proxy whose address is wrong.
 */
export async function connectionFindings(url: URL, signal: AbortSignal | undefined): Promise<Finding[]> {
  const proxy = findEnvironmentProxy(url);
  const findings = [
    ok("connection", proxy ? `${url.host} through the proxy ${describeProxy(proxy)}` : `${url.host}, without a proxy`),
  ];
  if (url.protocol === "http:") {
    if (!isLoopbackHost(url.hostname))
      findings.push(note("TLS", "plain http: the secret and the token are not encrypted", "Use https:."));
    return findings;
  }
  if (proxy) return findings;
  const certificate = await readCertificate(url, signal);
  if (certificate) findings.push(certificateFinding(certificate));
  return findings;
}

interface Certificate {
  protocol: string;
  validTo: number;
}

function certificateFinding({ protocol, validTo }: Certificate): Finding {
  const date = new Date(validTo).toISOString().slice(0, 10);
  const summary = `${protocol}, certificate valid until ${date}`;
  if (validTo < Date.now())
    return problem("TLS", `the certificate expired on ${date}`, "Ask the operators to renew it.");
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
      finish(valid_to ? { protocol: socket.getProtocol() ?? "TLS", validTo: Date.parse(valid_to) } : undefined);
    });
    const abandon = () => finish();
    socket.once("error", abandon);
    socket.once("timeout", abandon);
    signal?.addEventListener("abort", abandon);
  });
}
