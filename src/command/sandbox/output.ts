import type { LoggedRequest } from "../../sandbox/activity.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { SHELLS, type Shell } from "../shell.js";
import type { painter } from "../terminal.js";

/** The first lines: comments and lines that set variables, so that the whole can be pasted into a shell. */
export function greeting(shell: Shell, url: string, { credentials }: Sandbox): string {
  const { comment, set } = SHELLS[shell];
  return [
    `${comment} stocklot sandbox, page at ${new URL("/", url).href} (Ctrl-C stops it)`,
    set("STOCKLOT_BASE_URL", url),
    set("STOCKLOT_CLIENT_ID", credentials.clientId),
    set("STOCKLOT_CLIENT_SECRET", credentials.clientSecret),
  ].join("\n");
}

/** The options of a client of this sandbox. */
export function connectionJson(baseUrl: string, { credentials: { clientId, clientSecret } }: Sandbox): string {
  return JSON.stringify({ baseUrl, clientId, clientSecret });
}

/** The log line of a request: time, method, status, path, and the requests that the client has left. */
export function requestLine(request: LoggedRequest, paint: ReturnType<typeof painter>): string {
  const query = new URLSearchParams(request.query).toString();
  const parts = [
    paint("dim", new Date(request.at).toISOString().slice(11, 23)),
    request.method.padEnd(6),
    paint(styleOf(request.status), request.status === null ? "---" : String(request.status)),
    request.path + (query && `?${query}`),
    paint("dim", request.remaining === null ? "no limit" : `${request.remaining} left`),
  ];
  if (request.fault) parts.push(paint("magenta", `fault: ${request.fault}`));
  return parts.join("  ");
}

function styleOf(status: number | null): "red" | "yellow" | "green" {
  if (status === null || status >= 500) return "red";
  return status >= 400 ? "yellow" : "green";
}
