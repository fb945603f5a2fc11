import { afterEach, expect, it, vi } from "vitest";
import type { ClientOptions, HookEvents } from "../../src/index.js";
import { sandboxClient } from "../support/sandbox-client.js";

afterEach(() => void vi.useRealTimers());

/** A client, and the waits that its hook and the log report. */
function observed(options: ClientOptions) {
  const events: HookEvents["waiting"][] = [];
  const lines: string[] = [];
  const logger = { debug() {}, info: (line: string) => void lines.push(line), warn() {}, error() {} };
  const hooks = { waiting: (event: HookEvents["waiting"]) => void events.push(event) };
  return { ...sandboxClient({ logger, hooks, ...options }, { rateLimit: false }), events, lines };
}

it("a call that has to wait for a slot is reported when it queues, with its place in the queue", async () => {
  vi.useFakeTimers();
  const { client, events, lines } = observed({ rateLimit: { requests: 2, intervalMs: 10_000, reserved: 0 } });
  await client.items.list().page();
  const calls = Promise.all([1, 2, 3, 4].map(() => client.items.list().page()));
  await vi.advanceTimersByTimeAsync(1);
  expect(events).toEqual(
    [10, 10, 20, 20].map((seconds) => ({
      method: "GET",
      path: "/Item",
      reason: "limit",
      expectedMs: expect.closeTo(seconds * 1_000, -2),
    })),
  );
  expect(lines[0]).toMatch(/^stocklot: GET \/Item: waits for a slot of rateLimit, at least 10\.0 s$/);
  await vi.advanceTimersByTimeAsync(30_000);
  await calls;
  expect(events).toHaveLength(4);
});

it("a pause is reported for each call that waits, and for those that come later", async () => {
  vi.useFakeTimers();
  const pause = [45_000, 45_000] as const;
  const { sandbox, client, events, lines } = observed({
    retry: { rateLimitDelayMs: pause },
    rateLimit: { maxConcurrent: 1 },
  });
  await client.items.list().page();
  sandbox.addFault({ path: "/Item", times: 1, fault: 429 });
  const calls = [client.items.list().page(), client.items.list().page()];
  await vi.advanceTimersByTimeAsync(2_000);
  calls.push(client.items.list().page());
  await vi.advanceTimersByTimeAsync(1);
  expect(events.map(({ reason, expectedMs }) => [reason, Math.round(expectedMs / 1_000)])).toEqual([
    ["pause", 45],
    ["pause", 45],
    ["pause", 43],
  ]);
  expect(lines.at(-1)).toMatch(/waits for the end of the pause after a 429, at least 43\.0 s$/);
  await vi.advanceTimersByTimeAsync(60_000);
  await Promise.all(calls);
});
