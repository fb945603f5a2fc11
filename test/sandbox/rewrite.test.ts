import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { expect, it } from "vitest";
import { FAULT_NAMES } from "../../src/sandbox/faults.js";
import { abortedWhenHanging, Caller, callerOf } from "./support/caller.js";

const RECEIPT = { itemID: "A", units: 1, wid: 1, reasonCode: 1 };

const sandboxWith = (rewrite: SandboxOptions["rewrite"], options: SandboxOptions = {}) =>
  createSandbox({ items: [{ shortID: "A" }], rateLimit: false, rewrite, ...options });

it("replaces the response after the request has taken effect, over fetch and HTTP, sync or async", async () => {
  for (const later of [false, true]) {
    const sandbox = sandboxWith((response, request) => {
      const rewritten = request.url.endsWith("/Receive") ? new Response("100001", { status: 202 }) : response;
      return later ? Promise.resolve(rewritten) : rewritten;
    });
    const server = await sandbox.listen();
    for (const api of [callerOf(sandbox), new Caller(server.url, sandbox.credentials)]) {
      const response = await api.post("/Inventory/Receive", RECEIPT);
      expect([response.status, response.text]).toEqual([202, "100001"]);
      expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
    }
    expect((await callerOf(sandbox).get("/Inventory")).body.totalCount).toBe(2);
    expect(sandbox.requests.filter(({ status }) => status === 202)).toHaveLength(2);
    await server.close();
  }
});

it("receives the whole request: address, method, headers, body", async () => {
  const seen: unknown[] = [];
  const sandbox = sandboxWith(async (response, request) => {
    const { method, url, headers } = request;
    seen.push([method, url, headers.get("x-trace"), await request.text(), response.status]);
    return response;
  });
  const headers = { "x-trace": "7", "content-type": "application/json" };
  const api = callerOf(sandbox);
  await api.raw("/Item?page=2", { headers });
  await api.raw("/Item", { method: "POST", headers, body: "{}" });
  expect(seen).toEqual([
    ["GET", `${sandbox.baseUrl}/Item?page=2`, "7", "", 401],
    ["POST", `${sandbox.baseUrl}/Item`, "7", "{}", 401],
  ]);
});

it("rewrites errors and the 429, but no response of a fault rule; one that is slow or truncated stays so", async () => {
  const asTeapot = (response: Response) => new Response(response.body, { status: 418, headers: response.headers });
  const limited = sandboxWith(asTeapot, { rateLimit: { requests: 1 } });
  const statuses = [1, 2].map(async () => (await callerOf(limited).raw("/Item")).status);
  expect(await Promise.all(statuses)).toEqual([418, 418]);

  const sandbox = sandboxWith(asTeapot);
  sandbox.addFault({ path: "/Item", fault: 503, times: 1 });
  sandbox.addFault({ path: "/Item", fault: "truncated" });
  expect((await callerOf(sandbox).raw("/Item")).status).toBe(503);
  const cut = await sandbox.fetch(`${sandbox.baseUrl}/Item`);
  expect(cut.status).toBe(418);
  await expect(cut.text()).rejects.toThrow("terminated");
});

it.each(
  FAULT_NAMES,
)("rewrites the service's own response under the fault %s, if a caller receives it", async (fault) => {
  let rewritten = 0;
  const sandbox = sandboxWith((response) => {
    rewritten += 1;
    return new Response(response.body, { status: 418 });
  });
  sandbox.addFault({ fault: fault as "drop" });
  const sent = sandbox.fetch(`${sandbox.baseUrl}/Item`, { signal: abortedWhenHanging(sandbox) });
  const status = await sent.then(
    (response) => response.status,
    () => undefined,
  );
  expect([status, rewritten]).toEqual(status === undefined ? [undefined, 0] : [418, 1]);
});

it.each([
  ["throws", () => fail()],
  ["rejects", () => Promise.reject(new Error("no such form"))],
  ["returns no response", () => undefined as unknown as Response],
])("responds with a 500 that says so if it %s", async (_name, rewrite) => {
  const { status, body } = await callerOf(sandboxWith(rewrite)).raw("/Item");
  expect([status, body.message]).toEqual([500, expect.stringMatching(/^The option rewrite failed: /)]);
});

function fail(): never {
  throw new Error("no such form");
}
