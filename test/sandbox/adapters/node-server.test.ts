import { type Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { createSandbox, type SandboxOptions, type SandboxServer } from "stocklot/sandbox";
import { afterEach, describe, expect, it } from "vitest";
import { turnsOf } from "../../support/loop-time.js";
import { Caller } from "../support/caller.js";

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

/** Sends a request with node:http, which shows the response as it was sent. */
async function wire(url: string, headers: Record<string, string>, agent?: Agent) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest(url, { headers, ...(agent && { agent }) }, resolve)
      .on("error", reject)
      .end();
  });
  for await (const _chunk of response);
  return response;
}

describe("sandbox.listen", () => {
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
    expect(server.url).toBe(`http://127.0.0.1:${server.port}/api/v1`);
    await expect(createSandbox().listen({ port: server.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});
