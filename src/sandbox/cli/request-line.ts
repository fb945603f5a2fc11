import { styleText } from "node:util";
import type { LoggedRequest } from "../request-log.js";

/** One line about one request: when, what, how it ended, and how many requests the client has left. */
export function requestLine(request: LoggedRequest, colour: boolean): string {
  const paint = (format: Parameters<typeof styleText>[0], text: string) => (colour ? styleText(format, text) : text);
  const query = new URLSearchParams(request.query).toString();
  const status = request.status === null ? "---" : String(request.status);
  const parts = [
    paint("dim", new Date(request.at).toISOString().slice(11, 23)),
    request.method.padEnd(6),
    paint(colourOf(request.status), status),
    request.path + (query && `?${query}`),
    paint("dim", request.remaining === null ? "no limit" : `${request.remaining} left`),
  ];
  if (request.fault) parts.push(paint("magenta", `fault: ${request.fault}`));
  return parts.join("  ");
}

function colourOf(status: number | null): "green" | "yellow" | "red" {
  if (status === null || status >= 500) return "red";
  return status >= 400 ? "yellow" : "green";
}
