import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createSandbox, type Sandbox } from "../../../src/sandbox/index.js";
import type { Random } from "../../support/random.js";

/** The longest time from the arrival of a request to its effect, in ms. */
const MAX_LATENESS_MS = 600;

/** The share of writes and of reads with a fault, in percent. */
const FAULTY_WRITES = 40;
const FAULTY_READS = 10;

const FAULTS = [
  "reset-before",
  "reset-after",
  "reset-late",
  "hang-before",
  "hang-after",
  "hang-late",
  "slow",
  "error-before",
  "error-after",
  "truncated",
  "unauthorized",
  "limited",
] as const;

/** A write that the service has applied. */
export interface Effect {
  key: string;
  item: string;
  recNo: unknown;
}

/** A sandbox on real sockets. It resets connections, hangs, applies late, and refuses. It records what it applied. */
export class FaultyService {
  readonly effects: Effect[] = [];
  isFaulty = true;
  /** Called with the name of the sender when a write arrives, and again when it was applied, before the response. */
  onStep: (sender: string) => void = () => {};
  readonly #sandbox: Sandbox;
  readonly #random: Random;
  readonly #server = createServer((request, response) => void this.#handle(request, response).catch(() => {}));

  constructor(random: Random, items: readonly string[]) {
    this.#random = random;
    this.#sandbox = createSandbox({
      items: items.map((shortID) => ({ shortID })),
      lots: items.map((shortID) => ({ shortID, wID: 3, units: 1_000, spot: "A-1", received: "2020-01-01T00:00:00Z" })),
      rateLimit: false,
    });
    this.#server.on("connection", (socket) => socket.on("error", () => {}));
  }

  /** Starts the service, and returns the options for a client. */
  async listen(): Promise<{ baseUrl: string; clientId: string; clientSecret: string }> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const { port } = this.#server.address() as AddressInfo;
    const { pathname } = new URL(this.#sandbox.baseUrl);
    return { baseUrl: `http://127.0.0.1:${port}${pathname}`, ...this.#sandbox.credentials };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #nextFault(method: string): (typeof FAULTS)[number] | undefined {
    const percent = method === "GET" ? FAULTY_READS : FAULTY_WRITES;
    if (!this.isFaulty || this.#random(100) >= percent) return undefined;
    return FAULTS[this.#random(FAULTS.length)];
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "", socket } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const isWrite = method !== "GET" && !url.endsWith("/Token");
    const step = () => isWrite && this.onStep(String(request.headers["x-sender"]));
    const apply = async () => {
      const applied = await this.#apply(request, body);
      step();
      return applied;
    };
    step();
    const respond = async (applied: Response) => {
      const bytes = Buffer.from(await applied.arrayBuffer());
      response.writeHead(applied.status, Object.fromEntries(applied.headers)).end(bytes);
    };
    const fail = (status: number, message: unknown) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(message));
    };
    const error = (statusCode: number) =>
      fail(statusCode, { statusCode, error: "error", message: "No.", details: null });
    const lateness = () => sleep(this.#random(MAX_LATENESS_MS));
    switch (url.endsWith("/Token") ? undefined : this.#nextFault(method)) {
      case undefined:
        return respond(await apply());
      case "reset-before":
        return void socket.resetAndDestroy();
      case "reset-after":
        await apply();
        return void socket.resetAndDestroy();
      case "reset-late":
        socket.resetAndDestroy();
        await lateness();
        return void (await apply());
      case "hang-before":
        return;
      case "hang-after":
        return void (await apply());
      case "hang-late":
        await lateness();
        return void (await apply());
      case "slow":
        await lateness();
        return respond(await apply());
      case "error-before":
        return error(500);
      case "error-after":
        await apply();
        return error(503);
      case "truncated": {
        const { status } = await apply();
        response.writeHead(status, { "content-type": "application/json", "content-length": 1_000 });
        response.write('{"recNo": 1', () => socket.resetAndDestroy());
        return;
      }
      case "unauthorized":
        return error(401);
      case "limited":
        return fail(429, { message: "Rate Limit Exceeded. 100 per Minute" });
    }
  }

  /** Applies a request, whatever happens to its response. */
  async #apply({ method = "GET", url = "", headers }: IncomingMessage, body: string): Promise<Response> {
    const { authorization = "", "content-type": type = "application/json" } = headers;
    const sent = new Request(new URL(url, this.#sandbox.baseUrl), {
      method,
      headers: { authorization, "content-type": type },
      ...(body !== "" && { body }),
    });
    const response = await this.#sandbox.fetch(sent);
    if (method !== "GET" && !url.endsWith("/Token") && response.ok) {
      const input = Object(body === "" ? {} : JSON.parse(body));
      const result: unknown = await response
        .clone()
        .json()
        .catch(() => undefined);
      this.effects.push({
        key: String(input.reference ?? input.description),
        item: String(input.itemID ?? input.shortID).toLowerCase(),
        recNo: Object(result).recNo,
      });
    }
    return response;
  }
}
