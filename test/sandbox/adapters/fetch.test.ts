import { getEventListeners } from "node:events";
import { createSandbox, type Fault, type FaultShorthand } from "stocklot/sandbox";
import { afterEach, describe, expect, it, vi } from "vitest";
import { turnsOf } from "../../support/loop-time.js";
import { useCountedTimers } from "../../support/own-timers.js";
import { abortedWhenHanging, callerOf } from "../support/caller.js";

afterEach(() => {
  vi.useRealTimers();
});

async function faulty(fault: Fault | FaultShorthand) {
  const sandbox = createSandbox({ items: [{ shortID: "A" }] });
  const api = callerOf(sandbox);
  const authorization = await api.authorization();
  sandbox.addFault({ path: "/Inventory/Receive", fault });
  const body = JSON.stringify({ itemID: "A", units: 1, wid: 1, reasonCode: 1 });
  const headers = { ...authorization, "content-type": "application/json" };
  const receive = (signal?: AbortSignal) =>
    sandbox.fetch(`${sandbox.baseUrl}/Inventory/Receive`, { method: "POST", headers, body, ...(signal && { signal }) });
  const applied = async () => (await api.get("/Inventory")).body.totalCount === 1;
  return { sandbox, api, receive, applied };
}

describe("sandbox.fetch", () => {
  it("is called like the global fetch, and needs no this", async () => {
    const { fetch, baseUrl, credentials } = createSandbox();
    const form = { grant_type: "client_credentials", client_id: credentials.clientId };
    const body = new URLSearchParams({ ...form, client_secret: credentials.clientSecret });
    const url = `${baseUrl}/Token`;
    expect((await fetch(url, { method: "POST", body })).status).toBe(200);
    expect((await fetch(new URL(url), { method: "POST", body })).status).toBe(200);
    expect((await fetch(new Request(url, { method: "POST", body }))).status).toBe(200);
    expect((await fetch(new Request(url), { method: "POST", body })).status).toBe(200);
    const stream = new Blob([body.toString()]).stream();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect((await fetch(url, { method: "POST", body: stream, headers })).status).toBe(200);
  });

  it("responds only below its base path", async () => {
    const { fetch } = createSandbox();
    for (const url of ["https://x.test/", "https://x.test/api/v2/Item", "https://x.test/api/v1x/Item"]) {
      expect((await fetch(url)).status).toBe(404);
    }
  });

  it("rejects at once with the reason of a signal that has fired", async () => {
    const { fetch, baseUrl, requests } = createSandbox();
    const reason = new Error("changed my mind");
    await expect(fetch(baseUrl, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(requests).toHaveLength(0);
  });

  it("rejects the moment the signal fires, during latency and during a hang, and leaves no listener", async () => {
    const slow = createSandbox({ latencyMs: 60_000 });
    const { receive } = await faulty("hang");
    for (const call of [(signal: AbortSignal) => slow.fetch(slow.baseUrl, { signal }), receive]) {
      const caller = new AbortController();
      const response = call(caller.signal);
      setTimeout(() => caller.abort("enough"), 10);
      expect(await turnsOf(response)).toBeLessThan(1_000);
      await expect(response).rejects.toBe("enough");
      expect(getEventListeners(caller.signal, "abort")).toHaveLength(0);
    }
  });

  it("responds to HEAD as GET, without the body", async () => {
    const sandbox = createSandbox({ items: [{ shortID: "A" }, { shortID: "B" }] });
    const headers = await callerOf(sandbox).authorization();
    const response = await sandbox.fetch(`${sandbox.baseUrl}/Item?pageSize=1`, { method: "HEAD", headers });
    expect([response.status, response.body, response.headers.get("x-total-count")]).toEqual([200, null, "2"]);
    expect((await sandbox.fetch(`${sandbox.baseUrl}/Item/0`, { method: "HEAD", headers })).status).toBe(404);
    expect((await sandbox.fetch(`${sandbox.baseUrl}/Inventory/Move`, { method: "HEAD", headers })).status).toBe(404);
  });

  it("leaves no listener on a signal that is used again and again", async () => {
    const { fetch, baseUrl } = createSandbox({ rateLimit: false });
    const { signal } = new AbortController();
    for (let call = 0; call < 50; call += 1) await fetch(`${baseUrl}/Item`, { signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});

describe("time", () => {
  it("takes as long as latencyMs says, also on mocked timers", async () => {
    const timers = useCountedTimers();
    const { fetch, baseUrl } = createSandbox({ latencyMs: 1000 });
    let done = false;
    const call = fetch(baseUrl).then(() => {
      done = true;
    });
    await vi.advanceTimersByTimeAsync(999);
    expect(done).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await call;
    expect(timers()).toBe(0);
  });

  it("varies within a range of latencies", async () => {
    vi.useFakeTimers();
    const { fetch, baseUrl } = createSandbox({ latencyMs: [100, 200], rateLimit: false });
    const durations: number[] = [];
    for (let call = 0; call < 20; call += 1) {
      const began = Date.now();
      const response = fetch(baseUrl).then(() => durations.push(Date.now() - began));
      await vi.runAllTimersAsync();
      await response;
    }
    expect(Math.min(...durations)).toBeGreaterThanOrEqual(99);
    expect(Math.max(...durations)).toBeLessThanOrEqual(201);
    expect(new Set(durations).size).toBeGreaterThan(5);
  });

  it("follows the mocked clock, and can be moved by hand", async () => {
    vi.useFakeTimers({ now: Date.UTC(2025, 0, 1) });
    const sandbox = createSandbox();
    const api = callerOf(sandbox);
    expect((await api.get("/Item")).headers.get("date")).toBe("Wed, 01 Jan 2025 00:00:00 GMT");
    vi.setSystemTime(Date.UTC(2025, 0, 1, 0, 30));
    expect((await api.get("/Item")).headers.get("date")).toBe("Wed, 01 Jan 2025 00:30:00 GMT");
    sandbox.advance(31 * 60_000);
    expect((await api.get("/Item")).status).toBe(401);
  });
});

const CODES: Readonly<Record<number, string>> = {
  400: "bad_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  500: "internal_error",
  501: "not_implemented",
};

describe("faults over fetch", () => {
  it.each([
    ["drop", false],
    ["drop-after", true],
  ] as const)("%s rejects as a broken connection does, applied: %s", async (fault, expected) => {
    const { receive, applied, sandbox } = await faulty(fault);
    const error = await receive().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } });
    expect(sandbox.requests.at(-1)).toMatchObject({ status: null, fault: "drop" });
    expect(await applied()).toBe(expected);
  });

  it.each([
    ["hang", false],
    ["hang-after", true],
  ] as const)("%s never responds, applied: %s", async (fault, expected) => {
    const { receive, applied, sandbox } = await faulty(fault);
    await expect(receive(abortedWhenHanging(sandbox))).rejects.toThrow("enough");
    expect(await applied()).toBe(expected);
  });

  it.each([
    [503, false],
    [{ type: "status", status: 503, when: "after" }, true],
    ["html", false],
    [{ type: "html", status: 504, when: "after" }, true],
    ["wrong-shape", true],
    ["empty", true],
    ["invalid-json", true],
    ["truncated", true],
  ] as const)("%j, applied: %s", async (fault, expected) => {
    const { receive, applied } = await faulty(fault);
    await receive();
    expect(await applied()).toBe(expected);
  });

  it.each([400, 401, 403, 404, 409, 500, 501])("the status %i comes with its own code", async (status) => {
    const { receive } = await faulty(status);
    expect(await (await receive()).json()).toMatchObject({ statusCode: status, error: CODES[status] });
  });

  it.each([402, 410, 502, 503])("the status %i comes without the code of another", async (status) => {
    const { receive } = await faulty(status);
    expect(await (await receive()).json()).toEqual({ statusCode: status, message: expect.any(String) });
  });

  it("responds with a status, the error object that fits, or what the rule says", async () => {
    const respondedWith = async (fault: Fault | FaultShorthand) => {
      const response = await (await faulty(fault)).receive();
      return [response.status, await response.text(), response.headers] as const;
    };
    const [status, body] = await respondedWith(501);
    expect([status, JSON.parse(body)]).toMatchObject([501, { statusCode: 501, error: "not_implemented" }]);
    expect(JSON.parse((await respondedWith(429))[1])).toEqual({ message: "Rate Limit Exceeded. 100 per Minute" });
    expect((await respondedWith({ type: "status", status: 502, body: "Bad gateway" }))[1]).toBe("Bad gateway");
    const own = await respondedWith({ type: "status", status: 503, body: { a: 1 }, headers: { "Retry-After": "7" } });
    expect([own[1], own[2].get("retry-after")]).toEqual(['{"a":1}', "7"]);
    expect((await respondedWith({ type: "status", status: 204 }))[1]).toBe("");
    const page = await respondedWith("html");
    expect([page[0], page[2].get("content-type")]).toEqual([502, "text/html; charset=utf-8"]);
    expect(page[1]).toContain("<!DOCTYPE html>");
  });

  it("spoils the body in every way", async () => {
    const text = async (fault: Fault | FaultShorthand) => (await (await faulty(fault)).receive()).text();
    const proper = await text({ type: "slow", delayMs: 1, chunkBytes: 5 });
    expect(JSON.parse(proper)).toMatchObject({ status: "received" });
    expect(await text("empty")).toBe("");
    expect(() => JSON.parse("")).toThrow();
    const invalid = await text("invalid-json");
    expect(() => JSON.parse(invalid)).toThrow(SyntaxError);
    expect(JSON.parse(await text("wrong-shape"))).toEqual({ unexpected: true });
    expect(JSON.parse(await text({ type: "wrong-shape", body: [1] }))).toEqual([1]);
    expect((await text({ type: "oversized", bytes: 1e6 })).length).toBe(1e6 + 2);
  });

  it("spoils the JSON of a list, too", async () => {
    const { sandbox, api } = await faulty("drop");
    const headers = await api.authorization();
    const list = async () => (await sandbox.fetch(`${sandbox.baseUrl}/Item`, { headers })).text();
    const proper = await list();
    sandbox.addFault({ path: "/Item", fault: "invalid-json" });
    expect(await list()).toBe(`${proper.slice(0, -1)},]`);
  });

  it("breaks off a truncated body", async () => {
    const { receive } = await faulty({ type: "truncated", bytes: 4 });
    const response = await receive();
    const reader = response.body?.getReader();
    expect((await reader?.read())?.value).toHaveLength(4);
    await expect(reader?.read()).rejects.toMatchObject({ message: "terminated", cause: { code: "UND_ERR_SOCKET" } });
  });

  it("stops a slow body when the signal fires", async () => {
    const { receive } = await faulty({ type: "slow", delayMs: 60_000 });
    const caller = new AbortController();
    const response = await receive(caller.signal);
    setTimeout(() => caller.abort(new Error("enough")), 10);
    await expect(response.text()).rejects.toThrow("enough");
  });
});
