import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Fault, ordinary } from "./faults.js";
import { type Asked, SmallService, type Write } from "./small-service.js";

const BASE_PATH = "/api/v1";

/** A request that reached the server. */
export interface Seen extends Asked {
  /** When it came, on the clock of `performance.now()`. */
  at: number;
  headers: IncomingMessage["headers"];
}

type Selects = (asked: Asked) => boolean;

interface Plan {
  fault: Fault;
  selects: Selects;
  timesLeft: number;
}

export const isToken: Selects = ({ path }) => path === "/Token";
export const isNoToken: Selects = (asked) => !isToken(asked);
export const isWrite: Selects = (asked) => isNoToken(asked) && asked.method !== "GET";

/** The service on a real socket of the loopback address, with faults on demand. */
export class FaultServer {
  readonly service = new SmallService();
  /** What was asked, token requests included, in the order of arrival. */
  readonly seen: Seen[] = [];
  readonly #plans: Plan[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #end = new AbortController();
  #server: Server | undefined;
  #port = 0;
  /** Waits this long before it handles a request. */
  latencyMs = 0;
  /** How far the clock of its `Date` headers is off. */
  clockOffsetMs = 0;

  static async start(): Promise<FaultServer> {
    const server = new FaultServer();
    await server.listen();
    return server;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}${BASE_PATH}`;
  }

  /** Connections that are open at this moment. */
  get connections(): number {
    return this.#sockets.size;
  }

  get tokenRequests(): number {
    return this.seen.filter(isToken).length;
  }

  effects(write: Write): number {
    return this.service.effects[write];
  }

  /** The next `times` requests that are selected meet the fault; plans are used up in the order in which they were made. */
  plan(fault: Fault, { times = 1, on = isNoToken }: { times?: number; on?: Selects } = {}): this {
    this.#plans.push({ fault, selects: on, timesLeft: times });
    return this;
  }

  clearPlans(): void {
    this.#plans.length = 0;
  }

  /** Listens, again on the same port where it did before. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => void this.#handle(request, response));
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Refuses connections from now on. */
  async refuse(): Promise<void> {
    const server = this.#server;
    await new Promise<void>((resolve) => {
      server?.close(() => resolve());
      server?.closeAllConnections();
    });
    // The other ends learn of it in their own time.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async close(): Promise<void> {
    this.#end.abort();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => (this.#server?.listening ? this.#server.close(() => resolve()) : resolve()));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on("error", () => {});
    response.on("error", () => {});
    const url = new URL(request.url ?? "/", "http://localhost");
    const seen: Seen = {
      at: performance.now(),
      method: request.method ?? "",
      path: url.pathname.slice(BASE_PATH.length),
      query: url.searchParams,
      authorization: request.headers.authorization,
      headers: request.headers,
      body: "",
    };
    this.seen.push(seen);
    const fault = this.#faultFor(seen);
    if (!fault?.early) {
      for await (const chunk of request.setEncoding("utf8")) seen.body += chunk;
      if (this.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, this.latencyMs));
      if (response.destroyed) return;
    }
    const answer = !fault || fault.applies ? this.service.answer(seen) : { status: 200, body: { recNo: 1 } };
    if (this.clockOffsetMs !== 0) response.setHeader("date", new Date(Date.now() + this.clockOffsetMs).toUTCString());
    const exchange = { request, response, answer, signal: this.#end.signal };
    if (fault) fault.respond(exchange);
    else ordinary(exchange);
  }

  #faultFor(asked: Asked): Fault | undefined {
    const plan = this.#plans.find(({ timesLeft, selects }) => timesLeft > 0 && selects(asked));
    if (!plan) return undefined;
    plan.timesLeft -= 1;
    return plan.fault;
  }
}
