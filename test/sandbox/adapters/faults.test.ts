import { setupServer } from "msw/node";
import { sandboxHandlers } from "stocklot/msw";
import { createSandbox, type FaultRule, type Sandbox, type SandboxFetch } from "stocklot/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import { abortedWhenHanging, callerOf } from "../support/caller.js";

/** A base URL, and the function that sends requests to it. */
interface Transport {
  readonly baseUrl: string;
  readonly fetch: SandboxFetch;
}

const TRANSPORTS: Readonly<Record<string, (sandbox: Sandbox) => Promise<Transport>>> = {
  fetch: async (sandbox) => sandbox,
  HTTP: async (sandbox) => {
    const server = await sandbox.listen();
    onTestFinished(() => server.close());
    return { baseUrl: server.url, fetch: globalThis.fetch };
  },
  msw: async (sandbox) => {
    const server = setupServer(...sandboxHandlers(sandbox, "https://inventory.example/api/v1"));
    server.listen({ onUnhandledRequest: "error" });
    onTestFinished(() => server.close());
    return { baseUrl: "https://inventory.example/api/v1", fetch: (...input) => globalThis.fetch(...input) };
  },
};

/** Creates a sandbox in which receipts get the fault, with a function that sends a receipt. */
async function faulty(transport: string, fault: FaultRule["fault"]) {
  const open = TRANSPORTS[transport];
  if (!open) throw new Error(transport);
  const sandbox = createSandbox({ items: [{ shortID: "A" }] });
  const { baseUrl, fetch } = await open(sandbox);
  const api = callerOf(sandbox);
  const headers = { ...(await api.authorization()), "content-type": "application/json" };
  sandbox.addFault({ path: "/Inventory/Receive", fault });
  const body = JSON.stringify({ itemID: "A", units: 1, wid: 1, reasonCode: 1 });
  const receive = (signal?: AbortSignal) =>
    fetch(`${baseUrl}/Inventory/Receive`, { method: "POST", headers, body, ...(signal && { signal }) });
  const isApplied = async () => (await api.get("/Inventory")).body.totalCount === 1;
  return { sandbox, receive, isApplied };
}

describe.each(Object.keys(TRANSPORTS))("over %s", (transport) => {
  it.each([
    ["drop", false],
    ["drop-after", true],
  ] as const)("%s rejects as a broken connection does, applied: %s", async (fault, expected) => {
    const { receive, isApplied, sandbox } = await faulty(transport, fault);
    const error = await receive().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    if (transport !== "msw") expect(error).toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } });
    expect(sandbox.requests.at(-1)).toMatchObject({ status: null, fault: "drop" });
    expect(await isApplied()).toBe(expected);
  });

  it.each([
    ["hang", false],
    ["hang-after", true],
  ] as const)("%s never responds, applied: %s", async (fault, expected) => {
    const { receive, isApplied, sandbox } = await faulty(transport, fault);
    await expect(receive(abortedWhenHanging(sandbox))).rejects.toThrow("enough");
    expect(await isApplied()).toBe(expected);
  });

  it.each([
    ["truncated", /./],
    [{ type: "truncated", bytes: 1e6 }, /^\{"recNo":100001,"status":"received"$/],
    [{ type: "truncated", bytes: 4 }, /^\{"re$/],
  ] as const)("%j breaks off the body and never sends all of it, applied: true", async (fault, sent) => {
    const { receive, isApplied } = await faulty(transport, fault);
    const response = await receive();
    let text = "";
    const read = async () => {
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
    };
    await expect(read()).rejects.toThrow("terminated");
    // When the body ends with an error, msw drops the part that it has not delivered.
    if (transport !== "msw") expect(text).toMatch(sent);
    expect(await isApplied()).toBe(true);
  });

  it("slow sends the whole body in pieces, applied: true", async () => {
    const { receive, isApplied } = await faulty(transport, { type: "slow", delayMs: 5, chunkBytes: 8 });
    const began = performance.now();
    expect(await (await receive()).json()).toEqual({ recNo: 100_001, status: "received" });
    expect(performance.now() - began).toBeGreaterThan(15);
    expect(await isApplied()).toBe(true);
  });

  it.each([
    [503, '{"statusCode":503,"message":"This response is the result of a fault rule."}'],
    [{ type: "status", status: 503, body: "Bad gateway" }, "Bad gateway"],
    [{ type: "status", status: 200, body: { a: 1 }, headers: { "X-A": "7" } }, '{"a":1}'],
    [{ type: "status", status: 204 }, ""],
    [429, '{"message":"Rate Limit Exceeded. 100 per Minute"}'],
  ] as const)("the status %j has its body, applied: false", async (fault, text) => {
    const { receive, isApplied } = await faulty(transport, fault);
    const response = await receive();
    expect([response.status, await response.text()]).toEqual([typeof fault === "number" ? fault : fault.status, text]);
    if (typeof fault === "object" && "headers" in fault) expect(response.headers.get("x-a")).toBe("7");
    expect(await isApplied()).toBe(false);
  });

  it("a status may take effect", async () => {
    const { receive, isApplied } = await faulty(transport, { type: "status", status: 503, when: "after" });
    expect((await receive()).status).toBe(503);
    expect(await isApplied()).toBe(true);
  });
});
