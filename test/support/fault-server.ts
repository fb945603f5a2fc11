import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Fault, respondNormally } from "./faults.js";
import { type ServiceRequest, SmallService, type Write } from "./small-service.js";

const BASE_PATH = "/api/v1";

/** A request that reached the server. */
export interface ReceivedRequest extends ServiceRequest {
  /** Time of arrival, by `performance.now()`. */
  at: number;
  headers: IncomingMessage["headers"];
}

type RequestFilter = (request: ServiceRequest) => boolean;

interface Plan {
  fault: Fault;
  matches: RequestFilter;
  timesLeft: number;
}

export const isToken: RequestFilter = ({ path }) => path === "/Token";
export const isNotToken: RequestFilter = (request) => !isToken(request);
export const isWrite: RequestFilter = (request) => isNotToken(request) && request.method !== "GET";

/** A small service on a real loopback socket, with faults on demand. */
export class FaultServer {
  readonly service = new SmallService();
  /** All requests, token requests included, in order of arrival. */
  readonly requests: ReceivedRequest[] = [];
  readonly #plans: Plan[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #end = new AbortController();
  #server: Server | undefined;
  #port = 0;
  #held: Promise<void> | undefined;
  /** The time before the server handles a request, in ms. */
  latencyMs = 0;

  static async start(): Promise<FaultServer> {
    const server = new FaultServer();
    await server.listen();
    return server;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}${BASE_PATH}`;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  get tokenRequests(): number {
    return this.requests.filter(isToken).length;
  }

  effects(write: Write): number {
    return this.service.effects[write];
  }

  /** Plans a fault for the next `times` requests that match. Plans are used up in the order in which they were created. */
  plan(fault: Fault, { times = 1, on = isNotToken }: { times?: number; on?: RequestFilter } = {}): this {
    this.#plans.push({ fault, matches: on, timesLeft: times });
    return this;
  }

  /** Holds all requests until the returned function is called. */
  hold(): () => void {
    let release = () => {};
    this.#held = new Promise((resolve) => (release = resolve));
    return () => {
      this.#held = undefined;
      release();
    };
  }

  clearPlans(): void {
    this.#plans.length = 0;
  }

  /** Starts to listen, on the same port as before if there was one. */
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
  async refuseConnections(): Promise<void> {
    // Waits until each client has noticed the end of its connection and has closed it.
    const closed = [...this.#sockets].map((socket) => once(socket, "close"));
    for (const socket of this.#sockets) socket.end();
    await Promise.all(closed);
    await new Promise<void>((resolve) => {
      this.#server?.close(() => resolve());
      this.#server?.closeAllConnections();
    });
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
    const seen: ReceivedRequest = {
      at: performance.now(),
      method: request.method ?? "",
      path: url.pathname.slice(BASE_PATH.length),
      query: url.searchParams,
      authorization: request.headers.authorization,
      headers: request.headers,
      body: "",
    };
    this.requests.push(seen);
    const fault = this.#takeFault(seen);
    if (!fault?.early) {
      for await (const chunk of request.setEncoding("utf8")) seen.body += chunk;
      await this.#held;
      if (this.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, this.latencyMs));
      if (response.destroyed) return;
    }
    const serviceResponse = !fault || fault.applies ? this.service.respond(seen) : { status: 200, body: { recNo: 1 } };
    // The date is set here, because a test may use a virtual clock.
    response.setHeader("date", new Date().toUTCString());
    const exchange = { request, response, serviceResponse, signal: this.#end.signal };
    if (fault) fault.respond(exchange);
    else respondNormally(exchange);
  }

  #takeFault(request: ServiceRequest): Fault | undefined {
    const plan = this.#plans.find(({ timesLeft, matches: selects }) => timesLeft > 0 && selects(request));
    if (!plan) return undefined;
    plan.timesLeft -= 1;
    return plan.fault;
  }
}
