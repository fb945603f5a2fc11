import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Call, Sending } from "../../src/client/send/call.js";
import { encodeRequest } from "../../src/client/send/payload.js";
import { DEFAULT_RETRY_SETTINGS } from "../../src/client/send/retry-policy.js";
import { CallCancellation } from "../../src/shared/time/cancellation.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

it("a request of a series knows how long its own last attempt took", () => {
  const request = { method: "GET", path: "/Inventory" };
  const settings = { timeoutMs: 1_000, maxResponseBytes: 1_000, retry: DEFAULT_RETRY_SETTINGS, headers: {} };
  const call = new Call(request, settings, new CallCancellation());
  const create = () => new Sending(call, request, encodeRequest(request));
  const parts = [create(), create()] as const;
  const attempt = (part: Sending, durationMs: number) => {
    const trace = part.beginAttempt(undefined);
    vi.advanceTimersByTime(durationMs);
    part.endAttempt(trace);
  };
  attempt(parts[0], 10);
  attempt(parts[1], 500);
  attempt(parts[1], 30);
  expect(parts.map(({ attemptTrace }) => attemptTrace?.durationMs)).toEqual([10, 30]);
  expect(call).toMatchObject({ attempts: 3, spent: { sendingMs: 540, readingMs: 0 } });
});
