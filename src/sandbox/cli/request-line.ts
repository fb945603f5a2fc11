import type { LoggedRequest } from "../request-log.js";

/** One line about one request: when, what, how it ended, and how many requests the client has left. */
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
