/**
 * The process with the services of the benchmark. They do as little as possible, so that the client is measured. The parent
 * process opens as many services as it needs, each with its own latency, size and limit.
 */
import type { AddressInfo } from "node:net";
import { Admissions, type Limit } from "./admissions.js";
import { createMinimalServer, type Reply as HttpReply } from "./http-server.js";
import { itemJson, lotPage, stripePage } from "./records.js";

export interface ServiceOptions {
  /** The number of lots. By default, a page has 250 lots. */
  lots?: number;
  /** The shortest and the longest wait before a response, in ms. */
  latencyMs?: [number, number];
  limit?: Limit;
}

export interface ServiceStats {
  /** The times at which requests were admitted, in ms. */
  admitted: number[];
  refused: number;
  /** The most requests within any interval. */
  mostPerInterval: number;
}

export type ServiceCommand = { id: number; open: ServiceOptions } | { id: number; stats: number };
export type Reply = { id: number; port: number } | { id: number; stats: ServiceStats };

const TOKEN = Buffer.from(JSON.stringify({ access_token: "bench-token", token_type: "bearer", expires_in: 86_400 }));
const ITEM = Buffer.from(itemJson);
const TOO_MANY = Buffer.from(JSON.stringify({ message: "Too many requests" }));
const PAGE_SIZE = 250;

const admissionsByPort = new Map<number, Admissions>();

process.on("message", (command: ServiceCommand) => {
  if ("stats" in command) {
    const { admitted = [], refused = 0, mostPerInterval: densest = 0 } = admissionsByPort.get(command.stats) ?? {};
    process.send?.({ id: command.id, stats: { admitted, refused, mostPerInterval: densest } } satisfies Reply);
    return;
  }
  const admissions = new Admissions(command.open.limit);
  const server = createMinimalServer((target, reply) => respond(command.open, admissions, target, reply));
  server.listen(0, "127.0.0.1", 4_096, () => {
    const { port } = server.address() as AddressInfo;
    admissionsByPort.set(port, admissions);
    process.send?.({ id: command.id, port } satisfies Reply);
  });
});
process.once("disconnect", () => process.exit());

function respond(
  { lots = 250, latencyMs: [from, to] = [0, 0] }: ServiceOptions,
  admissions: Admissions,
  target: string,
  reply: HttpReply,
): void {
  const wait = from + Math.random() * (to - from);
  const serve = () => reply(200, bodyFor(target, lots));
  if (admissions.isLimited) {
    // A real service counts a request at some time between its arrival and its response. This one counts in the middle.
    setTimeout(() => {
      const admitted = admissions.admit();
      setTimeout(() => (admitted ? serve() : reply(429, TOO_MANY)), wait / 2);
    }, wait / 2);
  } else if (to > 0) setTimeout(serve, wait);
  else serve();
}

function bodyFor(target: string, lots: number): Buffer {
  if (target.endsWith("/Token")) return TOKEN;
  if (target.startsWith("/api/v1/Item")) return ITEM;
  const query = new URL(target, "http://service").searchParams;
  if (target.startsWith("/v1/customers")) return stripePage(Number(query.get("starting_after") ?? 0), PAGE_SIZE, lots);
  return lotPage(Number(query.get("page") ?? 1), Number(query.get("pageSize") ?? PAGE_SIZE), lots);
}
