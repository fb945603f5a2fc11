import { request as httpsRequest } from "node:https";
import { connect as connectSocket, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { Agent } from "undici";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { ClientOptions } from "../../src/index.js";
import { createCertificates } from "../support/certificates.js";
import { isWrite } from "../support/fault-server.js";
import { hang } from "../support/faults.js";
import { RUN_ALL } from "../support/runs.js";
import { connect, fetchThrough, startServer, waitUntil } from "../support/with-server.js";
import { listenOn } from "../wire/server.js";
import { receive, timesApplied } from "./support/receipts.js";

const certificates = createCertificates();
afterAll(() => certificates.remove());
const ca = certificates.authority;

/** A fetch function on `node:https`, as node-fetch is. */
const httpsFetch = (url: string, { method, headers, body, signal }: RequestInit) =>
  new Promise<Response>((resolve, reject) => {
    const request = httpsRequest(
      url,
      { method, headers: Object.fromEntries(new Headers(headers)), ca, ...(signal && { signal }) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => resolve(new Response(Buffer.concat(chunks), { status: response.statusCode ?? 0 })));
      },
    );
    request.on("error", reject);
    request.end(body);
  });

const agentOf = () => {
  const dispatcher = new Agent({ connect: { ca } });
  onTestFinished(() => dispatcher.destroy());
  return dispatcher;
};

const TRANSPORTS: [string, () => ClientOptions][] = [
  ["undici", () => ({ dispatcher: agentOf() })],
  ["fetch", () => ({ fetch: fetchThrough(agentOf()) })],
  ["a fetch function on node:https", () => ({ fetch: httpsFetch })],
];

const FOREIGN_BYTES = {
  "a plain http response": Buffer.from("HTTP/1.1 403 Forbidden\r\n\r\n"),
  "a record that is too long": Buffer.from([23, 3, 3, 255, 255, 1, 2, 3, 4]),
  "a handshake record": Buffer.from([22, 3, 3, 0, 4, 1, 2, 3, 4]),
  "an alert that is not encrypted": Buffer.from([21, 3, 3, 0, 2, 2, 40]),
  "a record that cannot be decrypted": Buffer.alloc(45, Buffer.from([23, 3, 3, 0, 40])),
};

const listen = (server: Server) => listenOn(server, "127.0.0.1");

/** Connects two sockets. An error of one closes both, as does the end of the test. */
function join(left: Socket, right: Socket): void {
  const close = () => {
    left.destroy();
    right.destroy();
  };
  left.pipe(right).pipe(left);
  for (const socket of [left, right]) socket.on("error", close);
  onTestFinished(close);
}

describe.each([
  "TLSv1.2",
  "TLSv1.3",
] as const)("%s, on which a firewall inserts bytes after a write was applied", (version) => {
  describe.each(RUN_ALL ? TRANSPORTS : TRANSPORTS.slice(0, 1))("over %s", (_, options) => {
    it.each(
      (["client", "server"] as const).flatMap((to) =>
        Object.entries(FOREIGN_BYTES).map(([name, bytes]) => [name, to, bytes] as const),
      ),
    )("%s, sent to the %s, leaves the outcome unknown", async (_, to, bytes) => {
      const service = await startServer();
      service.plan(hang({ applies: true }), { on: isWrite });
      const gateway = createTlsServer({ ...certificates.good, maxVersion: version }, (socket) =>
        join(socket, connectSocket(Number(new URL(service.baseUrl).port), "127.0.0.1")),
      );
      gateway.on("tlsClientError", () => {});
      const gatewayPort = await listen(gateway);
      const connections: Record<"client" | "server", Socket>[] = [];
      const firewallPort = await listen(
        createServer((client) => {
          const server = connectSocket(gatewayPort, "127.0.0.1");
          join(client, server);
          connections.push({ client, server });
        }),
      );
      const baseUrl = `https://localhost:${firewallPort}/api/v1`;
      const client = connect({ baseUrl }, { timeoutMs: 5_000, ...options() });
      const pending = receive(client, "inserted");
      await waitUntil(() => service.effects("receive") === 1);
      connections.at(-1)?.[to].write(bytes);
      const { effect, message } = await pending;
      expect(message).not.toMatch(/nothing was sent|timeoutMs/);
      expect(effect).toBe("unknown");
      expect(timesApplied(service, "inserted")).toBe(1);
    });
  });
});
