import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import type { ServiceResponse } from "./small-service.js";

/** A request, and how a fault can respond to it. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** The service's response without the fault, or a generic success if the fault prevents the effect. */
  serviceResponse: ServiceResponse;
  /** Aborted when the server closes, so that a waiting fault leaves nothing behind. */
  signal: AbortSignal;
}

/** A fault of FaultServer: what goes wrong with a request, and whether the service applies the request anyway. */
export interface Fault {
  /** Whether the request takes effect. */
  applies: boolean;
  /** Whether the fault happens after the head of the request has arrived and before the body is read. */
  early?: boolean;
  respond(exchange: Exchange): void;
}

const HTML = "<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>";

const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
};

/** Sends the service's response without a fault. */
export const respondNormally = ({ response, serviceResponse }: Exchange) =>
  json(response, serviceResponse.status, serviceResponse.body, serviceResponse.headers ?? {});

const success = ({ serviceResponse }: Exchange) => (serviceResponse.status < 300 ? serviceResponse.status : 200);

/** The connection breaks before the request is read. */
export const dropped = (): Fault => ({
  applies: false,
  early: true,
  respond: ({ request }) => request.socket.destroy(),
});

/** The service applies the request, and the connection breaks before it responds. */
export const droppedAfterEffect = (): Fault => ({ applies: true, respond: ({ request }) => request.socket.destroy() });

/** The connection is reset instead of closed. */
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

/** A 429. In this service, its body is a simple object. */
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

/** The service never responds. */
export const hang = ({ applies }: { applies: boolean }): Fault => ({ applies, respond: () => {} });

/** The head of the response arrives at once, and its body byte by byte. */
export const slowBody = (perByteMs: number): Fault => ({
  applies: true,
  respond: (exchange) => {
    const { response, serviceResponse, signal } = exchange;
    const text = JSON.stringify(serviceResponse.body);
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

const cutOff = (headers: Record<string, number>): Fault => ({
  applies: true,
  respond: (exchange) => {
    const { response, request } = exchange;
    response.writeHead(success(exchange), { "content-type": "application/json", ...headers });
    response.write('{"recNo": 12');
    setTimeout(() => request.socket.destroy(), 10);
  },
});

/** The body is shorter than its `content-length`. */
export const truncated = () => cutOff({ "content-length": 1_000 });
/** The connection breaks between two chunks of the body. */
export const cutChunks = () => cutOff({});

/** The response is not HTTP. */
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
/** A compressed body that is small on the wire, and has this many bytes when it is decompressed. */
export const gzipBomb = (bytes: number) =>
  body(gzipSync(JSON.stringify({ recNo: 12, filler: "x".repeat(bytes) })), { headers: { "content-encoding": "gzip" } });
export const brokenGzip = () =>
  body(gzipSync(JSON.stringify({ recNo: 12, filler: "x".repeat(500) })).fill(7, 14, 24), {
    headers: { "content-encoding": "gzip" },
  });
