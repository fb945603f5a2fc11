import { describe, expect, it } from "vitest";
import { type ClientOptions, TimeoutError } from "../../src/index.js";
import { isToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { connect, errorOf, QUICK, RECEIPT, startServer, TRANSPORTS } from "../support/with-server.js";

const never = () => new Promise<void>(() => {});

describe.each(TRANSPORTS)("beforeSend over %s", (_, transport) => {
  const start = async (options: ClientOptions = {}) => {
    const server = await startServer();
    const sent = () => server.requests.filter((request) => !isToken(request)).length;
    return { server, sent, client: connect(server, { ...transport, retry: QUICK, ...options }) };
  };

  it("sends nothing if it returns an async function, whose rejection ends no process", async () => {
    const { server, client } = await start();
    const beforeSend = () => async () => Promise.reject(new Error("too late"));
    const error = await errorOf(client.inventory.receive(RECEIPT, { beforeSend }));
    expect(error).toMatchObject({ name: "InputValidationError", applied: "no", issues: [{ path: ["beforeSend"] }] });
    expect(server.effects("receive")).toBe(0);
  });

  it("is awaited before each attempt, with its number, when the token is there; what it returns runs before the request", async () => {
    const { server, sent, client } = await start();
    server.plan(faults.status(503)).plan(faults.status(429)).plan(faults.status(401));
    const events: string[] = [];
    await client.items.get("BOLT", {
      beforeSend: async ({ attempt }) => {
        await Promise.resolve();
        events.push(`${attempt}: tokens ${server.tokenRequests}, sent ${sent()}`);
        return () => void events.push(`first byte, sent ${sent()}`);
      },
    });
    expect(events).toEqual([
      "1: tokens 1, sent 0",
      "first byte, sent 0",
      "2: tokens 1, sent 1",
      "first byte, sent 1",
      "3: tokens 1, sent 2",
      "first byte, sent 2",
      "4: tokens 2, sent 3",
      "first byte, sent 3",
    ]);
  });

  const refusal = Object.assign(new Error("lost the lock"), { name: "LockLost" });
  it.each([
    ["throws", () => fail()],
    ["rejects", async () => fail()],
    ["returns a function that throws", () => fail],
  ])("sends nothing if it %s, and the call rejects with just that, without a retry", async (_what, beforeSend) => {
    const { sent, client } = await start({ rateLimit: { requests: 10, intervalMs: 60_000, reserved: 0 } });
    expect(await errorOf(client.inventory.receive(RECEIPT, { beforeSend }))).toBe(refusal);
    expect(await errorOf(client.items.get("BOLT", { beforeSend }))).toBe(refusal);
    expect(sent()).toBe(0);
    // The slots were returned: only the token request has used one.
    expect(client.rateLimit).toMatchObject({ available: 9, inFlight: 0, queued: 0 });
  });

  it("whose function aborts the call sends nothing, and the call rejects with the reason", async () => {
    const { sent, client } = await start({ rateLimit: { requests: 10, intervalMs: 60_000, reserved: 0 } });
    const abort = new AbortController();
    const beforeSend = () => () => abort.abort("enough");
    expect(await errorOf(client.inventory.receive(RECEIPT, { beforeSend, signal: abort.signal }))).toBe("enough");
    await client.items.get("BOLT");
    expect(sent()).toBe(1);
    expect(client.rateLimit).toMatchObject({ available: 8, inFlight: 0 });
  });

  it("that never ends is ended by the signal and by totalTimeoutMs, with nothing sent", async () => {
    const { sent, client } = await start();
    await client.items.get("BOLT");
    const abort = new AbortController();
    const aborted = errorOf(client.inventory.receive(RECEIPT, { beforeSend: never, signal: abort.signal }));
    const reason = new Error("no longer wanted");
    setTimeout(() => abort.abort(reason), 20);
    expect(await aborted).toBe(reason);
    const late = await errorOf(client.inventory.receive(RECEIPT, { beforeSend: never, totalTimeoutMs: 50 }));
    expect(late).toBeInstanceOf(TimeoutError);
    expect(late).toMatchObject({ clock: "totalTimeoutMs", applied: "no" });
    expect(sent()).toBe(1);
  });

  function fail(): never {
    throw refusal;
  }
});
