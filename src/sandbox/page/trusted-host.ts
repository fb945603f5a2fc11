import { nodeNet } from "../../runtime/node-modules.js";

/**
 * Whether a request with this `Host` header may see the page. Any other web site could point a name of its own at this
 * address (DNS rebinding) and read the page with its visitors' browsers; addresses and loopback names cannot be
 * pointed elsewhere.
 *
 * @param listening the address that the server listens on
 */
export function isTrustedHost(header: string | undefined, listening: string): boolean {
  const host = parseHostHeader(header);
  if (host === undefined) return false;
  if (host === listening.toLowerCase() || isLoopbackHost(host)) return true;
  return ALL_INTERFACES_ADDRESSES.has(listening) && ipVersion(host) !== 0;
}

const ALL_INTERFACES_ADDRESSES: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** The host without its port and brackets, in lower case. */
function parseHostHeader(header = ""): string | undefined {
  const [, bracketed, plain] = /^(?:\[([\da-f:.]+)\]|([^\s:@/[\]]+))(?::\d+)?$/i.exec(header) ?? [];
  return (bracketed ?? plain)?.toLowerCase();
}

function isLoopbackHost(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  return host === "::1" || (ipVersion(host) === 4 && host.startsWith("127."));
}

/** 4 or 6; 0 if the host is a name. */
const ipVersion = (host: string) => nodeNet?.isIP(host) ?? 0;
