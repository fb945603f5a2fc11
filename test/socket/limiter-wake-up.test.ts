import { describe, expect, it } from "vitest";
import { createRateLimiter } from "../../src/index.js";
import { sleep } from "../support/with-server.js";

/** Keeps the process busy, so that no timer fires when it is due. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const request = (signal = new AbortController().signal) =>
  ({ priority: "normal", signal, maxWaitMs: Infinity }) as const;

/** Whether a promise is fulfilled within a time that is long for anything that happens at once. */
const comesSoon = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), sleep(2_000).then(() => false)]);

describe("a call that waits for the limiter is also admitted in a busy process", () => {
  it("when reading the state notices the end of a pause", async () => {
    const limiter = createRateLimiter();
    limiter.pause(30);
    const waiting = limiter.acquire(request());
    await sleep(1);
    block(50);
    expect(limiter.snapshot().pausedUntil).toBeNull();
    expect(await comesSoon(waiting)).toBe(true);
  });

  it("when reading the state notices a returned slot, and another call then leaves", async () => {
    const limiter = createRateLimiter({ requests: 1, reserved: 0, intervalMs: 30 });
    (await limiter.acquire(request())).end(true);
    const leaving = new AbortController();
    const left = limiter.acquire(request(leaving.signal)).catch(() => {});
    const waiting = limiter.acquire(request());
    await sleep(1);
    block(60);
    expect(limiter.snapshot().available).toBe(1);
    leaving.abort();
    await left;
    expect(await comesSoon(waiting)).toBe(true);
  });
});
