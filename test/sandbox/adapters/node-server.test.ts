import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import {
  createSandbox,
  type Fault,
  type FaultShorthand,
  type SandboxOptions,
  type SandboxServer,
} from "stocklot/sandbox";
import { afterEach, describe, expect, it } from "vitest";
import { turnsOf } from "../../support/loop-time.js";
import { abortedWhenHanging, Caller } from "../support/caller.js";

const servers: SandboxServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(options: SandboxOptions = {}) {
  const sandbox = createSandbox(options);
  const server = await sandbox.listen();
  servers.push(server);
  const api = new Caller(server.url, sandbox.credentials);
  return { sandbox, server, api };
}

/** One request on a plain socket-level client, which hides nothing. */
async function wire(url: string, headers: Record<string, string>, agent?: Agent) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest(url, { headers, ...(agent && { agent }) }, resolve)
      .on("error", reject)
      .end();
  });
  const chunks: Buffer[] = [];
  const arrivals: number[] = [];
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      arrivals.push(performance.now());
    }
  } catch (error) {
    return { response, body: Buffer.concat(chunks), arrivals, error };
  }
  return { response, body: Buffer.concat(chunks), arrivals, error: undefined };
}

describe("sandbox.listen", () => {
  it("serves the same service on a loopback port, under a complete base URL", async () => {
    const { api, server, sandbox } = await serve({ items: [{ shortID: "A/B ü" }] });
    expect(server.url).toBe(`http://127.0.0.1:${server.port}/api/v1`);
    expect((await api.get("/Item")).body.totalCount).toBe(1);
    expect((await api.post("/Inventory/Receive", { itemID: "A/B ü", units: 1, wid: 1, reasonCode: 1 })).status).toBe(
      201,
    );
    expect((await api.delete(`/Item/${encodeURIComponent("A/B ü")}`)).body.shortID).toBe("A/B ü");
    expect((await sandbox.fetch(`${sandbox.baseUrl}/Item`)).status).toBe(401);
    expect(sandbox.requests.map(({ status }) => status)).toEqual([200, 200, 201, 200, 401]);
  });

  it("keeps connections alive, and dates its responses by the sandbox's clock", async () => {
    const { api, server } = await serve({ now: () => Date.UTC(2031, 1, 2, 3, 4, 5) });
    const headers = await api.authorization();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = await wire(`${server.url}/Item`, headers, agent);
    const second = await wire(`${server.url}/Item`, headers, agent);
    expect(second.response.socket).toBe(first.response.socket);
    expect(first.response.headers.date).toBe("Sun, 02 Feb 2031 03:04:05 GMT");
    agent.destroy();
  });

  it("responds to HEAD as GET, without the body", async () => {
    const { api, server } = await serve();
    const headers = await api.authorization();
    const full = await fetch(`${server.url}/Item`, { headers: { ...headers, "accept-encoding": "identity" } });
    const head = await fetch(`${server.url}/Item`, {
      method: "HEAD",
      headers: { ...headers, "accept-encoding": "identity" },
    });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(head.headers.get("content-length")).toBe(String((await full.arrayBuffer()).byteLength));
    expect(head.headers.get("x-total-count")).toBe(full.headers.get("x-total-count"));
  });

  it("closes idle and open connections at once", async () => {
    const { api, server, sandbox } = await serve({ faults: [{ path: "/Item", fault: "hang" }] });
    const headers = await api.authorization();
    const hanging = wire(`${server.url}/Item`, headers).catch((error: Error) => error);
    while (sandbox.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await turnsOf(server.close())).toBeLessThan(4_000);
    expect(await hanging).toMatchObject({ code: "ECONNRESET" });
    await expect(fetch(server.url)).rejects.toThrow("fetch failed");
  });

  it("rejects when the port is taken", async () => {
    const { server } = await serve();
    await expect(createSandbox().listen({ port: server.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  it("reads the path as sent, also in absolute form", async () => {
    const { server } = await serve();
    const response = await new Promise<string>((resolve, reject) => {
      const socket = connect(server.port, "127.0.0.1", () => {
        socket.end("GET http://elsewhere/api/v1/Item HTTP/1.1\r\nHost: elsewhere\r\nConnection: close\r\n\r\n");
      });
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk.toString();
      });
      socket.on("end", () => resolve(text)).on("error", reject);
    });
    expect(response).toMatch(/^HTTP\/1.1 401 /);
  });
});

describe("faults on real connections", () => {
  async function faulty(fault: Fault | FaultShorthand) {
    const { sandbox, server, api } = await serve({ items: [{ shortID: "A" }] });
    const headers = await api.authorization();
    sandbox.addFault({ path: "/Inventory/Receive", fault });
    const body = JSON.stringify({ itemID: "A", units: 1, wid: 1, reasonCode: 1 });
    const receive = (signal?: AbortSignal) =>
      fetch(`${server.url}/Inventory/Receive`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body,
        ...(signal && { signal }),
      });
    const lots = async () => (await api.get("/Inventory")).body.totalCount;
    return { sandbox, server, headers, receive, lots };
  }

  it.each([
    ["drop", 0],
    ["drop-after", 1],
  ] as const)("%s breaks the connection before or after the effect", async (fault, applied) => {
    const { receive, lots } = await faulty(fault);
    await expect(receive()).rejects.toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } });
    expect(await lots()).toBe(applied);
  });

  it("hang keeps the connection open and silent", async () => {
    const { receive, lots, sandbox } = await faulty("hang-after");
    await expect(receive(abortedWhenHanging(sandbox))).rejects.toThrow("enough");
    expect(await lots()).toBe(1);
  });

  it("slow sends the body piece by piece", async () => {
    const { sandbox, server, headers } = await faulty(500);
    sandbox.addFault({ path: "/Item", fault: { type: "slow", delayMs: 40, chunkBytes: 100 } });
    const { body, arrivals, error } = await wire(`${server.url}/Item`, headers);
    expect(error).toBeUndefined();
    expect(JSON.parse(body.toString())).toMatchObject({ totalCount: 1 });
    expect(arrivals.length).toBeGreaterThan(2);
    expect((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(60);
  });

  it("truncated announces more than it sends", async () => {
    const { sandbox, server, headers } = await faulty(500);
    sandbox.addFault({ path: "/Item", fault: { type: "truncated", bytes: 20 } });
    const { response, body, error } = await wire(`${server.url}/Item`, headers);
    expect(error).toMatchObject({ code: "ECONNRESET" });
    expect(body).toHaveLength(20);
    expect(Number(response.headers["content-length"])).toBeGreaterThan(200);
  });

  it("truncated never sends everything, however much the rule allows", async () => {
    const { receive, sandbox } = await faulty({ type: "truncated", bytes: 1e6 });
    await expect((await receive()).text()).rejects.toThrow("terminated");
    const api = new Caller(sandbox.baseUrl, sandbox.credentials, sandbox.fetch);
    await expect(api.post("/Inventory/Receive", {})).rejects.toThrow("terminated");
  });

  it("a status without a body has none on the wire either", async () => {
    const { receive } = await faulty({ type: "status", status: 204 });
    const response = await receive();
    expect([response.status, await response.text(), response.headers.get("content-length")]).toEqual([204, "", null]);
  });

  it.each([
    ["empty", ""],
    ["html", "<!DOCTYPE html>"],
    ["invalid-json", "{"],
    ["wrong-shape", '{"unexpected":true}'],
  ] as const)("%s changes the body", async (fault, beginning) => {
    const { receive } = await faulty(fault);
    const text = await (await receive()).text();
    expect(text.startsWith(beginning)).toBe(true);
    if (fault === "empty") expect(text).toBe("");
  });

  it("oversized sends as much as the rule says", async () => {
    const { receive } = await faulty({ type: "oversized", bytes: 5_000_000 });
    expect((await (await receive()).arrayBuffer()).byteLength).toBe(5_000_002);
  });
});
