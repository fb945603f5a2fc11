import { createServer as createTlsServer, type SecureContextOptions } from "node:tls";
import { Agent, type buildConnector } from "undici";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { ClientOptions } from "../../src/index.js";
import { createCertificates } from "../support/certificates.js";
import { FaultServer } from "../support/fault-server.js";
import { connect, fetchThrough, storedToken } from "../support/with-server.js";
import { listenOn } from "../wire/server.js";
import { type Nginx, startNginx } from "./support/nginx.js";
import { receive, wrongReports } from "./support/receipts.js";
import { runReceipts } from "./support/run-receipts.js";
import { missingProgramReason } from "./support/server-program.js";

const certificates = createCertificates();
afterAll(() => certificates.remove());

const { good } = certificates;
const SERVERS = {
  "TLSv1.2": { identity: good, directives: "ssl_protocols TLSv1.2;" },
  "TLSv1.3": { identity: good, directives: "ssl_protocols TLSv1.3;" },
};
type ServerName = keyof typeof SERVERS;
const QUICK = { maxRetries: 2, minDelayMs: 1, maxDelayMs: 2 };
const VERSIONS = ["TLSv1.2", "TLSv1.3"] as const;

describe.skipIf(missingProgramReason("nginx"))("a gateway of https", () => {
  let service: FaultServer;
  let nginx: Nginx<ServerName>;
  let receipts = 0;

  beforeAll(async () => {
    service = await FaultServer.start();
    nginx = await startNginx(service.baseUrl, SERVERS);
  });
  afterAll(async () => {
    await nginx?.close();
    await service?.close();
  });

  const newRemark = () => `receipt ${++receipts}`;
  const urlOf = (server: ServerName) => `https://localhost:${nginx.ports[server]}/api/v1`;

  function clientOf(transport: string, baseUrl: string, tls: buildConnector.BuildOptions, options: ClientOptions = {}) {
    const dispatcher = new Agent({ connect: tls });
    onTestFinished(() => dispatcher.destroy());
    return connect(
      { baseUrl },
      { retry: QUICK, ...(transport === "fetch" ? { fetch: fetchThrough(dispatcher) } : { dispatcher }), ...options },
    );
  }
  const withAuthority = (options: SecureContextOptions = {}) => ({ ca: certificates.authority, ...options });

  /** A server that checks certificates in the handshake, as other gateways than nginx do. */
  async function startStrictServer(version: (typeof VERSIONS)[number]) {
    const server = createTlsServer({
      ...good,
      ca: certificates.authority,
      requestCert: true,
      rejectUnauthorized: true,
      maxVersion: version,
    });
    server.on("tlsClientError", () => {});
    return `https://localhost:${await listenOn(server, "127.0.0.1")}/api/v1`;
  }

  describe.concurrent.each([
    "undici",
    "fetch",
  ] as const)("a program whose authority is in NODE_EXTRA_CA_CERTS, over %s", (transport) => {
    it.for(VERSIONS)("sends a write to a server of %s", async (server, { expect }) => {
      const env = { NODE_EXTRA_CA_CERTS: certificates.authorityFile };
      const reports = await runReceipts({ baseUrl: urlOf(server), transport, remark: newRemark(), env });
      expect(reports).toMatchObject([{ effect: "applied" }]);
      expect(wrongReports(reports, service)).toEqual([]);
    });
  });

  describe.each(["undici", "fetch"])("over %s, with TLS settings of a dispatcher", (transport) => {
    it.each([
      ["TLSv1.2", { minVersion: "TLSv1.3" }],
      ["TLSv1.3", { maxVersion: "TLSv1.2" }],
    ] as const)("a server of %s and a client without it: nothing is sent", async (server, versions) => {
      const report = await receive(clientOf(transport, urlOf(server), withAuthority(versions)), newRemark());
      expect(report.effect).toBe("not applied");
      expect(report.message).toMatch(/TLS failed/);
    });

    it.each([
      // A fetch function does not say whether anything was sent. With TLS 1.3 a client may send before the server has checked
      // its certificate.
      ["TLSv1.2", transport === "fetch" ? "unknown" : "not applied", /TLS failed|the connection broke/],
      ["TLSv1.3", "unknown", /the connection broke/],
    ] as const)("%s, and a server that refuses in the handshake", async (version, effect, message) => {
      const baseUrl = await startStrictServer(version);
      const report = await receive(
        clientOf(transport, baseUrl, withAuthority(), { tokenStore: storedToken }),
        newRemark(),
      );
      expect(report).toMatchObject({ effect, message: expect.stringMatching(message) });
    });
  });
});
