import { readFileSync } from "node:fs";
import type { LoggedRequest } from "../request-log.js";
import type { Sandbox } from "../sandbox.js";
import { DEFAULT_PORT } from "./arguments.js";

export const USAGE = `Usage: npx -p stocklot stocklot-sandbox [options]

Serves the Inventory and Item Catalog Service from memory, with a web page at /.

  -p, --port <port>       port; 0 takes a free one (${DEFAULT_PORT})
      --host <address>    address to listen on (127.0.0.1)
      --items <count>     items to generate (250)
      --lots <count>      lots to generate, up to a million and more (2000)
      --seed <number>     the same seed generates the same data (1)
      --latency <ms>      latency of each response, or a range such as 20-80 (0)
      --rate-limit <n>    requests per minute; off for no limit (100)
      --token-ttl <s>     lifetime of a token in seconds (3600)
      --read-only         refuse every write
      --fault <rule>      faulty responses; may be given several times
  -h, --help              show this
  -v, --version           show the version

A fault rule is [METHOD] [/path] fault [detail=number ...], for example
  --fault "POST /Inventory/Receive drop-after times=1"
  --fault "/Item* 503 probability=0.1"
  --fault "GET slow delay=100 chunk=64"
Faults: a status, drop, drop-after, hang, hang-after, slow, truncated, invalid-json, empty, html, wrong-shape,
oversized. Details: times, skip, probability, for slow delay and chunk, for truncated and oversized bytes.`;

/** The first lines: comments and `export` lines, so that the whole can be pasted into a shell. */
export function greeting(url: string, { credentials }: Sandbox): string {
  return [
    `# stocklot sandbox, page at ${new URL("/", url).href} (Ctrl-C stops it)`,
    `export STOCKLOT_BASE_URL=${url}`,
    `export STOCKLOT_CLIENT_ID=${credentials.clientId}`,
    `export STOCKLOT_CLIENT_SECRET=${credentials.clientSecret}`,
  ].join("\n");
}

/** The version in the nearest package.json of this package: one folder up when built, two or three in the source. */
export function packageVersion(): string {
  for (const path of ["../package.json", "../../package.json", "../../../package.json"]) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
      if (name === "stocklot") return String(version);
    } catch {
      // Not here: one further up.
    }
  }
  return "unknown";
}

/** The log line of a request: time, method, status, path, and the requests that the client has left. */
export function requestLine(request: LoggedRequest, colour: boolean): string {
  const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const query = new URLSearchParams(request.query).toString();
  const status = request.status === null ? "---" : String(request.status);
  const parts = [
    paint(DIM, new Date(request.at).toISOString().slice(11, 23)),
    request.method.padEnd(6),
    paint(colourOf(request.status), status),
    request.path + (query && `?${query}`),
    paint(DIM, request.remaining === null ? "no limit" : `${request.remaining} left`),
  ];
  if (request.fault) parts.push(paint(MAGENTA, `fault: ${request.fault}`));
  return parts.join("  ");
}

function colourOf(status: number | null): number {
  if (status === null || status >= 500) return RED;
  return status >= 400 ? YELLOW : GREEN;
}

const DIM = 2;
const RED = 31;
const GREEN = 32;
const YELLOW = 33;
const MAGENTA = 35;
