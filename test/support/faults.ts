import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import type { Answer } from "./small-service.js";

/** One request that a fault has hold of. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** What the service would have answered; for a fault that leaves the effect out, what it answers in general. */
  answer: Answer;
  /** Ends with the server, so that nothing is left behind by a fault that waits. */
  signal: AbortSignal;
}

/** What goes wrong with a request, and whether the service applies it all the same. */
export interface Fault {
  /** Whether the request takes effect. */
  applies: boolean;
  /** Strikes when the head of the request has come, before its body is read. */
  early?: boolean;
  respond(exchange: Exchange): void;
}

const HTML = "<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>";

const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
};

/** The answer that the service gives when nothing goes wrong. */
export const ordinary = ({ response, answer }: Exchange) =>
  json(response, answer.status, answer.body, answer.headers ?? {});

const success = ({ answer }: Exchange) => (answer.status < 300 ? answer.status : 200);

/** The connection breaks before the request is read. */
export const dropped = (): Fault => ({
  applies: false,
  early: true,
  respond: ({ request }) => request.socket.destroy(),
});

/** The service applies the request, and the connection breaks before it answers. */
export const droppedAfterEffect = (): Fault => ({ applies: true, respond: ({ request }) => request.socket.destroy() });

/** The connection is reset, which is ruder than an end. */
export const resetAfterEffect = (): Fault => ({
  applies: true,
  respond: ({ request }) => request.socket.resetAndDestroy(),
});

/** An error status, in the service's form. */
export const status = (
  code: number,
  {
    applies = false,
    headers = {},
    message = `status ${code}`,
  }: { applies?: boolean; headers?: Record<string, string>; message?: string } = {},
): Fault => ({
  applies,
  respond: ({ response }) =>
    json(response, code, { statusCode: code, error: "made_up", message, details: null }, headers),
});

/** 429, whose body is a simple object in this service. */
export const rateLimited = (retryAfter?: string): Fault => ({
  applies: false,
  respond: ({ response }) =>
    json(
      response,
      429,
      { message: "Rate Limit Exceeded. 100 per Minute" },
      retryAfter === undefined ? {} : { "retry-after": retryAfter },
    ),
});

/** No answer ever comes. */
export const hang = ({ applies }: { applies: boolean }): Fault => ({ applies, respond: () => {} });

/** The head of the answer comes, and then its body, byte by byte. */
export const slowBody = (perByteMs: number): Fault => ({
  applies: true,
  respond: (exchange) => {
    const { response, answer, signal } = exchange;
    const text = JSON.stringify(answer.body);
    response.writeHead(success(exchange), {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    });
    response.flushHeaders();
    let sent = 0;
    const timer = setInterval(() => {
      if (sent < text.length) response.write(text.charAt(sent));
      sent += 1;
      if (sent < text.length) return;
      clearInterval(timer);
      response.end();
    }, perByteMs);
    for (const stop of ["close", "error"]) response.on(stop, () => clearInterval(timer));
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  },
});

/** The body ends sooner than its head says. */
export const truncated = (): Fault => ({
  applies: true,
  respond: (exchange) => {
    const { response, request } = exchange;
    response.writeHead(success(exchange), { "content-type": "application/json", "content-length": 1_000 });
    response.write('{"recNo": 12');
    setTimeout(() => request.socket.destroy(), 10);
  },
});

/** The connection breaks between two chunks of the body. */
export const cutChunks = (): Fault => ({
  applies: true,
  respond: (exchange) => {
    const { response, request } = exchange;
    response.writeHead(success(exchange), { "content-type": "application/json" });
    response.write('{"recNo": 12');
    setTimeout(() => request.socket.destroy(), 10);
  },
});

/** The answer does not follow HTTP. */
export const notHttp = (raw: string): Fault => ({
  applies: true,
  respond: ({ request }) => request.socket.end(raw),
});

/** A success with another body. */
export const body = (
  content: string | Buffer,
  { headers = {}, applies = true }: { headers?: Record<string, string>; applies?: boolean } = {},
): Fault => ({
  applies,
  respond: (exchange) => {
    exchange.response.writeHead(success(exchange), { "content-type": "application/json", ...headers });
    exchange.response.end(content);
  },
});

export const invalidJson = () => body('{"recNo": 12');
export const emptyBody = () => body("");
export const html = () => body(HTML, { headers: { "content-type": "text/html" } });
export const tooLarge = (bytes: number) => body(JSON.stringify({ recNo: 12, filler: "x".repeat(bytes) }));
/** Small on the wire. */
export const gzipBomb = (bytes: number) =>
  body(gzipSync(JSON.stringify({ recNo: 12, filler: "x".repeat(bytes) })), { headers: { "content-encoding": "gzip" } });
export const brokenGzip = () =>
  body(gzipSync(JSON.stringify({ recNo: 12, filler: "x".repeat(500) })).fill(7, 14, 24), {
    headers: { "content-encoding": "gzip" },
  });
