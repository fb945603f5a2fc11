import { createServer as createTlsServer } from "node:https";
import { connect as connectSocket, createServer } from "node:net";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { InventoryClient } from "../../src/index.js";
import { createCertificates } from "../support/certificates.js";
import { ITEM } from "../support/records.js";
import { clientOf, connect } from "./server.js";

const item = JSON.stringify(ITEM);
const transportOf = (client: InventoryClient) => /\ntransport: (.*)\n/.exec(client.debugReport())?.[1];

afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.doUnmock("#undici");
  vi.resetModules();
});

describe("a client without options", () => {
  it("sends with undici", async () => {
    const { client } = await clientOf((_, response) => response.end(item));
    expect(transportOf(client)).toBe("undici or fetch, chosen at the first request");
    await client.items.get("X");
    expect(transportOf(client)).toBe("undici");
  });

  it.each([
    ["is empty, as in a bundle for Workers", () => ({ Agent: undefined }), 0],
    ["cannot dispatch, as on Bun", () => ({ Agent: class {} }), 0],
    [
      "cannot be loaded, as in a single ES module, and warns",
      () => {
        throw new Error('Dynamic require of "node:assert" is not supported');
      },
      1,
    ],
  ])("sends with fetch if undici %s", async (_, undici, warnings) => {
    vi.doMock("#undici", undici);
    vi.resetModules();
    const { InventoryClient: Client } = await import("../../src/index.js");
    const { origin } = await clientOf((_request, response) => response.end(item));
    const warn = vi.fn();
    const logger = { debug() {}, info() {}, warn, error() {} };
    const client = new Client({
      baseUrl: `${origin}/api/v1`,
      clientId: "scanner",
      clientSecret: "secret-0123",
      logger,
    });
    expect(await client.items.get("X")).toMatchObject({ shortID: ITEM.shortID });
    expect(transportOf(client)).toBe("fetch");
    expect(warn.mock.calls.filter(([line]) => /sent with fetch.*undici/.test(line))).toHaveLength(warnings);
    await client.close();
  });
});

describe("where the environment may not be read", () => {
  const read = vi.fn(() => {
    throw new Error("NotCapable");
  });

  function forbidEnvironment() {
    vi.stubGlobal("Deno", { permissions: { querySync: () => ({ state: "prompt" }) } });
    const versions = { value: { node: "26.0.0", deno: "2.9.6" } };
    const env = { value: new Proxy({}, { get: read, has: read }) };
    vi.stubGlobal("process", Object.create(process, { versions, env }));
  }

  it("requests are sent with fetch, since undici reads variables, and no variable is read", async () => {
    const { client } = await clientOf((_, response) => response.end(item));
    forbidEnvironment();
    expect(await client.items.get("X")).toMatchObject({ shortID: ITEM.shortID });
    expect(transportOf(client)).toBe("fetch");
    expect(read).not.toHaveBeenCalled();
  });

  it("a missing option is an error that says how to permit the variable", () => {
    forbidEnvironment();
    expect(() => new InventoryClient({ baseUrl: "https://inventory.test", clientId: "scanner" })).toThrow(
      /clientSecret is required .*STOCKLOT_CLIENT_SECRET, which this program may not read: run it with --allow-env=STOCKLOT_CLIENT_SECRET/,
    );
    expect(read).not.toHaveBeenCalled();
  });

  it("a runtime without process reports that there are no variables", () => {
    vi.stubGlobal("process", undefined);
    expect(() => new InventoryClient({ baseUrl: "https://inventory.test", clientId: "scanner" })).toThrow(
      /STOCKLOT_CLIENT_SECRET, but this runtime has no environment variables/,
    );
  });
});

it("Deno's fetch receives a write as a stream, and anything else as it is", async () => {
  const inits: RequestInit[] = [];
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    inits.push(init);
    return new Response(init.method === "POST" && inits.length === 1 ? '{"access_token":"t-0123456789"}' : "{}");
  });
  vi.stubGlobal("process", Object.create(process, { versions: { value: { node: "26.0.0", deno: "2.9.6" } } }));
  const client = connect("https://inventory.test/api/v1", { fetch: globalThis.fetch });
  await client.request({ method: "POST", path: "/Orders", body: { text: "é" } });
  await client.request({ method: "PUT", path: "/Orders", body: { text: "é" } });
  const [, post, put] = inits;
  expect(post).toMatchObject({ body: expect.any(ReadableStream), duplex: "half" });
  expect(await new Response(post?.body).text()).toBe('{"text":"é"}');
  expect(put?.body).toBe('{"text":"é"}');
});

it("the debug report names the TLS version of the last connection and the proxy, without its password", async () => {
  const certificates = createCertificates();
  onTestFinished(certificates.remove);
  const server = createTlsServer({ ...certificates.good, maxVersion: "TLSv1.2" }, (request, response) =>
    response.end(request.url === "/api/v1/Token" ? '{"access_token":"canary-token-0123456789"}' : item),
  );
  const proxy = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (head) => {
      const [, port] = /^CONNECT [^:]+:(\d+)/.exec(head.toString()) ?? [];
      const upstream = connectSocket(Number(port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        upstream.pipe(socket).pipe(upstream);
      });
      upstream.on("error", () => socket.destroy());
    });
  });
  const port = await listenOn(server);
  const proxyPort = await listenOn(proxy);
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  const direct = connect(`https://localhost:${port}/api/v1`);
  await direct.items.get("X");
  expect(transportOf(direct)).toBe("undici, TLSv1.2");
  vi.stubEnv("HTTPS_PROXY", `http://user:password-0123@127.0.0.1:${proxyPort}`);
  const proxied = connect(`https://localhost:${port}/api/v1`);
  await proxied.items.get("X");
  expect(transportOf(proxied)).toBe(`undici, TLSv1.2, through the proxy http://127.0.0.1:${proxyPort} (HTTPS_PROXY)`);
  expect(proxied.debugReport()).not.toContain("password-0123");
});

async function listenOn(server: ReturnType<typeof createServer> | ReturnType<typeof createTlsServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}
