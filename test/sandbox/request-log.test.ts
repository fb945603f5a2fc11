import { createSandbox } from "stocklot/sandbox";
import { expect, it, vi } from "vitest";
import { callerOf } from "./support/caller.js";

const NOW = Date.UTC(2025, 0, 1);

it("lists in order what was requested: method, path, query, body, status, client", async () => {
  const { requests, ...sandbox } = createSandbox({ now: () => NOW, items: [{ shortID: "A" }] });
  const api = callerOf({ ...sandbox, requests });
  await api.get("/Item/A%2FB?x=1&y=%C3%BC");
  await api.post("/Inventory/Receive", { itemID: "A", units: 1, wid: 1, reasonCode: 1 });
  await api.raw("/Item");
  const common = { at: NOW, fault: undefined };
  const form = { grant_type: "client_credentials", client_id: "sandbox-client", client_secret: "[redacted]" };
  const receipt = { itemID: "A", units: 1, wid: 1, reasonCode: 1 };
  const expected = [
    ["POST", "/Token", {}, form, 200, 99, "sandbox-client"],
    ["GET", "/Item/A%2FB", { x: "1", y: "ü" }, undefined, 404, 98, "sandbox-client"],
    ["POST", "/Inventory/Receive", {}, receipt, 201, 97, "sandbox-client"],
    ["GET", "/Item", {}, undefined, 401, 99, undefined],
  ].map(([method, path, query, body, status, remaining, clientId]) => ({
    ...common,
    ...{ method, path, query, body, status, remaining, clientId },
  }));
  expect(requests).toEqual(expected);
});

it("calls listeners until they are removed", async () => {
  const sandbox = createSandbox();
  const seen: (number | null)[] = [];
  const stop = sandbox.onRequest(({ status }) => seen.push(status));
  await sandbox.fetch(`${sandbox.baseUrl}/Item`);
  stop();
  await sandbox.fetch(`${sandbox.baseUrl}/Item`);
  expect(seen).toEqual([401]);
});

it.each([
  ["throws", () => fail()],
  ["rejects", async () => fail()],
])("a listener that %s breaks no response, stops no other listener, and is warned about once", async (_name, listener) => {
  const unhandled = vi.fn();
  const warnings = vi.fn();
  process.on("unhandledRejection", unhandled);
  process.on("warning", warnings);
  const sandbox = createSandbox({ rateLimit: false });
  const server = await sandbox.listen();
  const seen: string[] = [];
  sandbox.onRequest(listener);
  sandbox.onRequest(({ path }) => seen.push(path));
  expect((await sandbox.fetch(`${sandbox.baseUrl}/Item`)).status).toBe(401);
  expect((await fetch(`${server.url}/Item`)).status).toBe(401);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(seen).toEqual(["/Item", "/Item"]);
  expect(unhandled).not.toHaveBeenCalled();
  const ours = warnings.mock.calls.filter(([{ message }]) => message.startsWith("A listener of the sandbox failed"));
  expect(ours).toEqual([[expect.objectContaining({ message: "A listener of the sandbox failed: no such column" })]]);
  await server.close();
  process.off("unhandledRejection", unhandled);
  process.off("warning", warnings);
});

function fail(): never {
  throw new Error("no such column");
}

it("is emptied by a reset, which brings everything back to the beginning", async () => {
  const sandbox = createSandbox({ items: [{ shortID: "A" }], rateLimit: { requests: 4 } });
  const api = callerOf(sandbox);
  await api.post("/Item", { shortID: "B" });
  await api.post("/Inventory/Receive", { itemID: "A", units: 1, wid: 1, reasonCode: 1 });
  sandbox.advance(1000);
  const { requests } = sandbox;
  sandbox.reset();
  expect(requests).toHaveLength(0);
  expect((await api.get("/Item")).status).toBe(401);
  const fresh = callerOf(sandbox);
  expect((await fresh.get("/Item")).body.totalCount).toBe(1);
  expect((await fresh.get("/Inventory")).body.totalCount).toBe(0);
  expect((await fresh.get("/Item")).status).toBe(200);
});
