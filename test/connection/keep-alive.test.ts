import { Agent } from "undici";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type ClientOptions, InventoryClient } from "../../src/index.js";
import { FaultServer } from "../support/fault-server.js";
import { sleep, TRANSPORTS } from "../support/with-server.js";
import { type Nginx, startNginx } from "./support/nginx.js";
import { type ReceiptReport, receive, wrongReports } from "./support/receipts.js";
import { missingProgramReason } from "./support/server-program.js";

const SERVERS = {
  "7 requests": { directives: "keepalive_requests 7;" },
  "1 s": { directives: "keepalive_timeout 1s;" },
  "2 s, announced": { directives: "keepalive_timeout 2s 2s;" },
  "5 s": { directives: "keepalive_timeout 5s;" },
  default: {},
};
type ServerName = keyof typeof SERVERS;

const notApplied = (reports: readonly ReceiptReport[]) => reports.filter(({ effect }) => effect !== "applied");

/** The number of connections that the gateway closes at about the same time. */
const CONNECTIONS = 80;

describe.skipIf(missingProgramReason("nginx"))("a gateway that closes connections", () => {
  let service: FaultServer;
  let nginx: Nginx<ServerName>;
  const clients: InventoryClient[] = [];
  let receipts = 0;

  beforeAll(async () => {
    service = await FaultServer.start();
    nginx = await startNginx(service.baseUrl, SERVERS);
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await nginx?.close();
    await service?.close();
  });

  const newRemark = () => `receipt ${++receipts}`;

  function clientOf(server: ServerName, options: ClientOptions): InventoryClient {
    const client = new InventoryClient({
      baseUrl: `http://127.0.0.1:${nginx.ports[server]}/api/v1`,
      clientId: "scanner",
      clientSecret: "canary-secret-0123456789abcdef",
      rateLimit: false,
      retry: { minDelayMs: 1, maxDelayMs: 20 },
      ...options,
    });
    clients.push(client);
    return client;
  }

  /** Sends writes on many connections, and more writes at about the time at which the gateway closes idle connections. */
  async function receiveTwice(client: InventoryClient, idleMs: number): Promise<ReceiptReport[]> {
    const receiveAll = (delayMs: (index: number) => number) =>
      Promise.all(
        Array.from({ length: CONNECTIONS }, async (_, index) => {
          await sleep(delayMs(index));
          return receive(client, newRemark());
        }),
      );
    const first = await receiveAll(() => 0);
    const then = await receiveAll((index) => idleMs - CONNECTIONS / 2 + index);
    return [...first, ...then];
  }

  describe.concurrent.each(TRANSPORTS)("over %s", (_, options) => {
    it("after a number of requests, which it announces, loses no write", async ({ expect }) => {
      const client = clientOf("7 requests", options);
      const reports = (
        await Promise.all(
          Array.from({ length: 10 }, async () => {
            const own: ReceiptReport[] = [];
            for (let count = 0; count < 20; count += 1) own.push(await receive(client, newRemark()));
            return own;
          }),
        )
      ).flat();
      expect(notApplied(reports)).toEqual([]);
      expect(wrongReports(reports, service)).toEqual([]);
    });

    it.for([
      ["that it announces", "2 s, announced", 2_000],
      ["of more than 4 s, since the client closes them first,", "5 s", 5_000],
    ] as const)("after an idle time %s loses no write", async ([, server, idleMs], { expect }) => {
      const reports = await receiveTwice(clientOf(server, options), idleMs);
      expect(notApplied(reports)).toEqual([]);
      expect(wrongReports(reports, service)).toEqual([]);
    });

    it("after an idle time that it does not announce: each write is reported as it was", async ({ expect }) => {
      const reports = await receiveTwice(clientOf("1 s", options), 1_000);
      expect(wrongReports(reports, service)).toEqual([]);
    });
  });

  it("loses no write of a client whose dispatcher uses no connection twice", async () => {
    const dispatcher = new Agent({ pipelining: 0 });
    onTestFinished(() => dispatcher.destroy());
    const reports = await receiveTwice(clientOf("1 s", { dispatcher }), 1_000);
    expect(notApplied(reports)).toEqual([]);
    expect(wrongReports(reports, service)).toEqual([]);
  });

  describe.each(TRANSPORTS)("over %s", (_, options) => {
    it("while the program is busy: the next write is reported as it was", async () => {
      const client = clientOf("1 s", options);
      await receive(client, newRemark());
      await sleep(800);
      const busyUntil = performance.now() + 700;
      while (performance.now() < busyUntil);
      const report = await receive(client, newRemark());
      expect(report.message).not.toContain("nothing was sent");
      expect(wrongReports([report], service)).toEqual([]);
    });

    it("because it is reloaded: each write is reported as it was", async () => {
      const client = clientOf("default", options);
      const reports: ReceiptReport[] = [];
      const end = performance.now() + 1_000;
      const reloads = setInterval(() => nginx.reload(), 200);
      onTestFinished(() => clearInterval(reloads));
      await Promise.all(
        Array.from({ length: 16 }, async () => {
          while (performance.now() < end) reports.push(await receive(client, newRemark()));
        }),
      );
      expect(wrongReports(reports, service)).toEqual([]);
      expect(notApplied(reports).length).toBeLessThan(reports.length / 2);
    });
  });
});
