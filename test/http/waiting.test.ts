import { afterEach, expect, it, vi } from "vitest";
import type { ClientOptions, WaitingEvent } from "../../src/index.js";
import { inVirtualTime, useVirtualTime, wait } from "../outbox/support/virtual-time.js";
import { sandboxClient, subscribeInTest } from "../support/channels.js";
import { useCountedTimers } from "../support/own-timers.js";

afterEach(() => void vi.useRealTimers());

/** A client, and the waits that its hook, the channel and the log report. */
function observed(options: ClientOptions, service: Parameters<typeof sandboxClient>[1] = { rateLimit: false }) {
  const events: WaitingEvent[] = [];
  const lines: string[] = [];
  const messages: unknown[] = [];
  subscribeInTest("stocklot:waiting", (message) => void messages.push(message));
  const { sandbox, client } = sandboxClient(
    {
      logger: { debug() {}, info: (line) => void lines.push(line), warn() {}, error() {} },
      hooks: { waiting: (event) => void events.push(event) },
      ...options,
    },
    service,
  );
  return { sandbox, client, events, lines, messages };
}

it("a call that waits for a slot is reported once, after 1.5 s, with the time that it is expected to take", async () => {
  useVirtualTime();
  const { client, events, lines, messages } = observed({ rateLimit: { requests: 3, intervalMs: 2_500, reserved: 0 } });
  await inVirtualTime(client.items.list().page());
  const startedAt = performance.now();
  const calls = Promise.all([1, 2, 3].map(() => client.items.list().page()));
  await inVirtualTime(wait(1_300));
  expect(events).toEqual([]);
  await inVirtualTime(calls);
  expect(performance.now() - startedAt).toBeGreaterThan(2_300);
  expect(events).toHaveLength(2);
  for (const event of events) {
    expect(event).toEqual({
      call: expect.any(Number),
      method: "GET",
      path: "/Item",
      reason: "limit",
      waitedMs: expect.any(Number),
      expectedMs: expect.any(Number),
    });
    expect(Math.abs(event.waitedMs - 1_500)).toBeLessThan(300);
    expect(Math.abs((event.expectedMs ?? 0) - 1_000)).toBeLessThan(400);
  }
  expect(messages).toEqual(events.map((event) => ({ type: "waiting", ...event })));
  const line =
    /^stocklot: GET \/Item: has waited 1\.[5-8] s for a slot: all slots of rateLimit are in use; expected in [01]\.\d s$/;
  expect(lines).toEqual([expect.stringMatching(line), expect.stringMatching(line)]);
});

it("the last of a long queue is expected later than the first", async () => {
  vi.useFakeTimers();
  const { client, events } = observed({ rateLimit: { requests: 2, intervalMs: 10_000, reserved: 0 } });
  const calls = Promise.all([1, 2, 3, 4, 5].map(() => client.items.get("BOLT").catch(() => {})));
  await vi.advanceTimersByTimeAsync(1_600);
  expect(events.map(({ expectedMs = 0 }) => Math.floor(expectedMs / 1_000))).toEqual([8, 8, 18, 18]);
  await vi.advanceTimersByTimeAsync(60_000);
  await calls;
  expect(events).toHaveLength(4);
});

it("a call that the pause after a 429 delays is reported as such, driven by fake timers", async () => {
  vi.useFakeTimers();
  const { sandbox, client, events, lines } = observed({ retry: { rateLimitDelayMs: [45_000, 45_000] } });
  await client.items.list().page();
  sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
  const call = client.items.list().page();
  await vi.advanceTimersByTimeAsync(1_600);
  const other = client.items.list().page();
  await vi.advanceTimersByTimeAsync(1_600);
  expect(events.map(({ reason, expectedMs = 0 }) => [reason, Math.round(expectedMs / 1_000)])).toEqual([
    ["pause", 44],
    ["pause", 42],
  ]);
  expect(lines.at(-1)).toMatch(/has waited 1\.5 s for the end of the pause after a 429; expected in 41\.9 s$/);
  await vi.advanceTimersByTimeAsync(60_000);
  await Promise.all([call, other]);
  expect(events).toHaveLength(2);
});

it("a call that waited when a pause began is expected after the pause", async () => {
  vi.useFakeTimers();
  const { sandbox, client, events } = observed({
    rateLimit: { requests: 3, intervalMs: 2_000, reserved: 0 },
    retry: { rateLimitDelayMs: [45_000, 45_000] },
  });
  await client.items.list().page();
  sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
  const calls = Promise.all([1, 2, 3].map(() => client.items.list().page()));
  await vi.advanceTimersByTimeAsync(1_600);
  expect(events.map(({ reason, expectedMs = 0 }) => [reason, Math.round(expectedMs / 1_000)])).toEqual([
    ["pause", 44],
    ["pause", 44],
    ["pause", 44],
  ]);
  await vi.advanceTimersByTimeAsync(60_000);
  await calls;
});

it("a pause is reported by fake timers also if the clock is real", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { sandbox, client, events } = observed({ retry: { rateLimitDelayMs: [45_000, 45_000] } });
  await client.items.list().page();
  sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
  const call = client.items.list().page();
  await vi.advanceTimersByTimeAsync(1_600);
  expect(events).toMatchObject([{ reason: "pause" }]);
  await vi.advanceTimersByTimeAsync(60_000);
  await call;
});

it("a call that waits for a token is reported as such, with an unknown duration", async () => {
  useVirtualTime();
  const { sandbox, client, events, lines } = observed({});
  sandbox.addFault({ path: "/Token", times: 1, fault: "hang" });
  const left = new AbortController();
  const call = client.items.list({}, { signal: left.signal }).page();
  await inVirtualTime(wait(1_700));
  left.abort();
  await expect(call).rejects.toBe(left.signal.reason);
  expect(events).toMatchObject([{ path: "/Item", reason: "token", expectedMs: undefined }]);
  expect(lines).toEqual([expect.stringMatching(/GET \/Item: has waited 1\.\d s for a token$/)]);
});

it("a call that maxConcurrent delays is reported, with an unknown duration", async () => {
  vi.useFakeTimers();
  const { client, events } = observed({ rateLimit: { maxConcurrent: 1 } }, { rateLimit: false, latencyMs: 2_000 });
  const calls = Promise.all([client.items.list().page(), client.items.list().page()]);
  await vi.advanceTimersByTimeAsync(10_000);
  await calls;
  expect(events.map(({ path, reason, expectedMs }) => [path, reason, expectedMs])).toEqual([
    ["/Item", "token", undefined],
    ["/Item", "token", undefined],
    ["/Item", "limit", undefined],
  ]);
});

it("short waits are not reported", async () => {
  const timers = useCountedTimers();
  const { client, events } = observed({ rateLimit: { requests: 2, intervalMs: 1_400, reserved: 0 } });
  await client.items.list().page();
  const short = client.items.list().page();
  await vi.advanceTimersByTimeAsync(1_450);
  await short;
  expect(events).toEqual([]);
  expect(timers()).toBe(0);
});

it("one timer serves ten thousand calls that wait, and none is left when they have ended", async () => {
  const timers = useCountedTimers();
  const { client, events } = observed({ rateLimit: { requests: 2, intervalMs: 3_600_000, reserved: 0 } });
  await client.items.list().page();
  const leave = new AbortController();
  const calls = Array.from({ length: 10_000 }, () =>
    client.items.get("BOLT", { signal: leave.signal }).catch(() => {}),
  );
  await vi.advanceTimersByTimeAsync(0);
  // The other is the limiter's, for the next slot.
  expect(timers()).toBe(2);
  await vi.advanceTimersByTimeAsync(1_600);
  expect(events).toHaveLength(10_000);
  expect(timers()).toBe(1);
  leave.abort();
  await Promise.all(calls);
  expect(timers()).toBe(0);
});

it("no memory is kept for calls that were aborted or closed while they waited", async () => {
  const timers = useCountedTimers();
  const { client, events } = observed({ rateLimit: { requests: 2, intervalMs: 60_000, reserved: 0 } });
  await client.items.list().page();
  const controller = new AbortController();
  const calls = [
    client.items.get("BOLT", { signal: controller.signal }).catch(() => {}),
    client.items.get("BOLT").catch(() => {}),
  ];
  await vi.advanceTimersByTimeAsync(1_000);
  controller.abort();
  await client.close();
  await Promise.all(calls);
  expect(timers()).toBe(0);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(events).toEqual([]);
});
