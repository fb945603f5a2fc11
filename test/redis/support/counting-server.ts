import { createServer, type Server } from "node:http";

export interface CountingServerOptions {
  requests: number;
  intervalMs: number;
  /** How long a response takes, in ms. */
  latencyMs?: number;
}

export interface CountedRequest {
  /** When it was counted, in ms by a monotonic clock. */
  time: number;
  /** Who sent it, as its `x-worker` header or its client ID says. */
  worker: string;
  path: string;
  status: number;
  /** The token that it had, or an empty string. */
  token: string;
}

/** A service that counts in a sliding window and responds with 429 beyond the limit. It issues tokens, and responds with `{}` otherwise. */
export class CountingServer {
  readonly counted: CountedRequest[] = [];
  /** Tokens that are refused with a 401. */
  readonly revoked = new Set<string>();
  #window: number[] = [];
  #tokens = 0;
  #server: Server | undefined;

  constructor(readonly options: CountingServerOptions) {}

  get baseUrl(): string {
    const address = this.#server?.address();
    if (typeof address !== "object" || !address) throw new Error("the server is not listening");
    return `http://127.0.0.1:${address.port}/api/v1`;
  }

  get refusals(): number {
    return this.counted.filter(({ status }) => status === 429).length;
  }

  get tokenRequests(): CountedRequest[] {
    return this.counted.filter(({ path }) => path.endsWith("/Token"));
  }

  times(): number[] {
    return this.counted.map(({ time }) => time);
  }

  async listen(): Promise<this> {
    const server = createServer((request, response) => {
      const path = request.url ?? "";
      const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
      const status = this.#count() ? (!path.endsWith("/Token") && this.revoked.has(token) ? 401 : 200) : 429;
      this.counted.push({
        time: performance.now(),
        worker: String(request.headers["x-worker"] ?? ""),
        path: path.split("?")[0] ?? "",
        status,
        token,
      });
      const access_token = path.endsWith("/Token") ? `token-${++this.#tokens}-of-the-counting-server` : undefined;
      const body =
        status === 200 ? { access_token, expires_in: 3_600 } : { message: "Rate limit exceeded. Try again later." };
      request.resume();
      setTimeout(() => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      }, this.options.latencyMs ?? 10);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#server = server;
    return this;
  }

  close(): Promise<void> {
    const server = this.#server;
    server?.closeAllConnections();
    return new Promise((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  #count(): boolean {
    const now = performance.now();
    const { requests, intervalMs } = this.options;
    while (this.#window[0] !== undefined && this.#window[0] <= now - intervalMs) this.#window.shift();
    this.#window.push(now);
    return this.#window.length <= requests;
  }
}
