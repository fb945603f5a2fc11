import { getEventListeners } from "node:events";
import { createSandbox } from "stocklot/sandbox";
import { afterEach, describe, expect, it, vi } from "vitest";
import { turnsOf } from "../../support/loop-time.js";
import { useCountedTimers } from "../../support/own-timers.js";
import { callerOf } from "../support/caller.js";

afterEach(() => {
  vi.useRealTimers();
});

describe("sandbox.fetch", () => {
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
    const hanging = createSandbox({ faults: [{ fault: "hang" }] });
    for (const { fetch, baseUrl } of [slow, hanging]) {
      const caller = new AbortController();
      const response = fetch(baseUrl, { signal: caller.signal });
      setTimeout(() => caller.abort("enough"), 10);
      expect(await turnsOf(response)).toBeLessThan(1_000);
      await expect(response).rejects.toBe("enough");
      expect(getEventListeners(caller.signal, "abort")).toHaveLength(0);
    }
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
