import { connect as connectSocket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { ProxyAgent } from "undici";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { ClientOptions } from "../../src/index.js";
import { createCertificates, type Identity } from "../support/certificates.js";
import { FaultServer, isWrite } from "../support/fault-server.js";
import { hang } from "../support/faults.js";
import { freePort } from "../support/free-port.js";
import { connect, fetchThrough, sleep, waitUntil } from "../support/with-server.js";
import { type ForwardProxy, startSquid, startTinyproxy } from "./support/forward-proxies.js";
import { type Nginx, startNginx } from "./support/nginx.js";
import { receive, timesApplied, wrongReports } from "./support/receipts.js";
import { runReceipts } from "./support/run-receipts.js";
import { missingProgramReason } from "./support/server-program.js";

const TRANSPORTS = ["undici", "ProxyAgent", "fetch with ProxyAgent"] as const;
type Transport = (typeof TRANSPORTS)[number];
/** The number of writes that begin at about the time at which the proxy closes their tunnels. */
const COUNT = 40;
const PASSWORD = "canary4password";
/** A password with characters that have a meaning in URLs. */
const SPECIAL_PASSWORD = "canary@:/é%password";

/** The proxies, with the status with which each refuses. */
const PROXIES = [
  {
    name: "squid",
    start: startSquid,
    password: SPECIAL_PASSWORD,
    onlyPort443: "acl https port 443\nhttp_access deny !https",
    statuses: { wrongPassword: 407, unreachable: 503 },
  },
  {
    name: "tinyproxy",
    start: startTinyproxy,
    password: PASSWORD,
    onlyPort443: "ConnectPort 443",
    statuses: { wrongPassword: 401, unreachable: 500 },
  },
] as const;

const QUICK = { maxRetries: 2, minDelayMs: 1, maxDelayMs: 2 };

const certificates = createCertificates();
afterAll(() => certificates.remove());
// The proxy variables of this machine must not take effect.
beforeEach(() => {
  for (const name of ["http_proxy", "no_proxy", "NO_PROXY"]) vi.stubEnv(name, undefined);
});
afterEach(() => vi.unstubAllEnvs());

const reason = missingProgramReason("nginx", "squid", "tinyproxy");

describe.skipIf(reason).each(PROXIES)("$name", ({ start, password, onlyPort443, statuses }) => {
  let service: FaultServer;
  let nginx: Nginx<"https">;
  let open: ForwardProxy;
  let guarded: ForwardProxy;
  let restricted: ForwardProxy;
  let receipts = 0;

  beforeAll(async () => {
    service = await FaultServer.start();
    [nginx, open, guarded, restricted] = await Promise.all([
      startNginx(service.baseUrl, { https: { identity: certificates.good } }),
      start({}),
      start({ credentials: `robot:${password}` }),
      start({ directives: onlyPort443 }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([open, guarded, restricted].map((proxy) => proxy?.program.close()));
    await nginx?.close();
    await service?.close();
  });

  const newRemark = () => `receipt ${++receipts}`;
  const servicePort = () => Number(new URL(service.baseUrl).port);
  const withPassword = ({ url }: ForwardProxy, value: string) =>
    url.replace("//", `//robot:${encodeURIComponent(value)}@`);

  /** A client that reaches the service through a proxy. */
  function clientThrough(
    transport: Transport,
    proxyUrl: string,
    { port, ...options }: ClientOptions & { port?: number } = {},
  ) {
    const { baseUrl = "", ...transportSettings } = transportOptions(transport, proxyUrl, port);
    return connect({ baseUrl }, { rateLimit: false, retry: QUICK, ...transportSettings, ...options });
  }

  function transportOptions(transport: Transport, proxyUrl: string, port: number | undefined): ClientOptions {
    if (transport === "undici") {
      vi.stubEnv("HTTP_PROXY", proxyUrl);
      // 0.0.0.0 reaches this machine, and no rule for loopback addresses exempts it from the proxy.
      return { baseUrl: `http://0.0.0.0:${port ?? servicePort()}/api/v1`, allowInsecureHttp: true };
    }
    const baseUrl = `https://localhost:${port ?? nginx.ports.https}/api/v1`;
    const dispatcher = new ProxyAgent({ uri: proxyUrl, requestTls: { ca: certificates.authority } });
    onTestFinished(() => dispatcher.destroy());
    return transport === "ProxyAgent" ? { baseUrl, dispatcher } : { baseUrl, fetch: fetchThrough(dispatcher) };
  }

  describe.each(TRANSPORTS)("over %s", (transport) => {
    it("connects a client that has the password", async () => {
      const report = await receive(clientThrough(transport, withPassword(guarded, password)), newRemark());
      expect(report).toMatchObject({ effect: "applied" });
      expect(wrongReports([report], service)).toEqual([]);
    });

    it.each([
      ["a missing password", 407, 1, () => ({ url: guarded.url })],
      ["a wrong password", statuses.wrongPassword, 1, () => ({ url: withPassword(guarded, "canary5password") })],
      ["a port that is not allowed", 403, 1, () => ({ url: restricted.url })],
      ["an unreachable server", statuses.unreachable, 3, async () => ({ url: open.url, port: await freePort() })],
    ] as const)("refuses %s with %i: nothing was sent, after %i attempts", async (_, status, attempts, target) => {
      const { url, ...options }: { url: string; port?: number } = await target();
      const report = await receive(clientThrough(transport, url, options), newRemark());
      expect(report.effect).toBe("not applied");
      expect(report.message).toMatch(
        new RegExp(`the proxy (refused to connect|failed)(, nothing was sent)?, ${attempts} attempt.*\\(${status}\\)`),
      );
      if (status === 401 || status === 407) expect(report.message).toContain("user name and password");
      expect(report.message).not.toMatch(/canary\dpassword/);
      expect(wrongReports([report], service)).toEqual([]);
    });

    it("that is killed after a write was applied leaves the outcome unknown, and the next write finds no connection", async () => {
      const proxy = await start({});
      onTestFinished(() => proxy.program.close());
      const client = clientThrough(transport, proxy.url);
      service.plan(hang({ applies: true }), { on: isWrite });
      const [lost, next] = [newRemark(), newRemark()];
      const pending = receive(client, lost);
      await waitUntil(() => timesApplied(service, lost) === 1);
      await proxy.program.stop("SIGKILL");
      expect(await pending).toMatchObject({ effect: "unknown" });
      const report = await receive(client, next);
      // Once a fetch function was called, the client cannot know that it has sent nothing.
      const [effect, message] =
        transport === "fetch with ProxyAgent" ? ["unknown", /refused/] : ["not applied", /refused, nothing was sent/];
      expect(report).toMatchObject({ effect, message: expect.stringMatching(message) });
      expect(wrongReports([report], service)).toEqual([]);
    });
  });

  it("that closes idle tunnels while writes begin: each write is reported as it was, over each transport", async () => {
    const proxy = await start({ idleSeconds: 1 });
    onTestFinished(() => proxy.program.close());
    const reports = TRANSPORTS.map(async (transport) => {
      const client = clientThrough(transport, proxy.url);
      const receiveAt = async (delayMs: number) => {
        await sleep(delayMs);
        return receive(client, newRemark());
      };
      const receiveAll = (delayMs: (index: number) => number) =>
        Promise.all(Array.from({ length: COUNT }, (_, index) => receiveAt(delayMs(index))));
      return [...(await receiveAll(() => 0)), ...(await receiveAll((index) => 700 + 20 * index))];
    });
    expect(wrongReports((await Promise.all(reports)).flat(), service)).toEqual([]);
  });

  describe.concurrent("a program with environment variables only", () => {
    const runThrough = async (HTTPS_PROXY: string) => {
      const env = { HTTPS_PROXY, NODE_EXTRA_CA_CERTS: certificates.authorityFile };
      const baseUrl = `https://localhost:${nginx.ports.https}/api/v1`;
      return runReceipts({ baseUrl, remark: newRemark(), env });
    };
    /** A server that speaks TLS in front of the proxy. */
    const startTls = async (identity: Identity) => {
      const server = createTlsServer(identity, (socket) => {
        const upstream = connectSocket(Number(new URL(open.url).port), "127.0.0.1");
        socket.pipe(upstream).pipe(socket);
        for (const end of [socket, upstream]) end.on("error", () => {});
      });
      server.on("tlsClientError", () => {});
      const port = await freePort();
      await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
      return { url: `https://localhost:${port}`, close: () => void server.close() };
    };

    it("reaches a service of a private authority, with a password", async ({ expect }) => {
      const reports = await runThrough(withPassword(guarded, password));
      expect(reports).toMatchObject([{ effect: "applied" }]);
      expect(wrongReports(reports, service)).toEqual([]);
      expect(guarded.requests()).toContain(`CONNECT localhost:${nginx.ports.https}`);
    });

    it("reaches a proxy of https", async ({ expect, onTestFinished }) => {
      const proxy = await startTls(certificates.good);
      onTestFinished(proxy.close);
      expect(await runThrough(proxy.url)).toMatchObject([{ effect: "applied" }]);
    });

    it("names a proxy of https whose certificate is refused", async ({ expect, onTestFinished }) => {
      const proxy = await startTls(certificates.selfSigned);
      onTestFinished(proxy.close);
      const [report] = await runThrough(proxy.url);
      expect(report?.effect).toBe("not applied");
      expect(report?.message).toMatch(
        /through the proxy: the server's certificate was refused, nothing was sent, 1 attempt/,
      );
    });
  });
});
