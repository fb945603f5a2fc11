import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseRetryAfterMs } from "../../src/client/send/api-error.js";
import { Failure, type Retry } from "../../src/client/send/failure.js";
import { withRetries } from "../../src/client/send/retry.js";
import { DEFAULT_RETRY_SETTINGS, type RetrySettings } from "../../src/client/send/retry-options.js";
import { Scope } from "../../src/client/send/scope.js";

const SETTINGS: RetrySettings = { ...DEFAULT_RETRY_SETTINGS, maxRetries: 3, minDelayMs: 100, maxDelayMs: 1_000 };
const failed = (retry: Retry, retryAfterMs = 0) => new Failure(new Error(retry), "no", retry, retry, retryAfterMs);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const budgetOf = (retry: RetrySettings, signal?: AbortSignal) => ({
  settings: { timeoutMs: 0, maxResponseBytes: 0, headers: {}, retry },
  scope: new Scope([signal], Infinity),
  retries: 0,
  rateLimitRetries: 0,
  isLastAttempt: false,
});

/** Runs attempts that end in turn as given, then succeed, and returns when each began. */
async function run(ends: unknown[], settings = SETTINGS, signal?: AbortSignal) {
  const times: number[] = [];
  const startedAt = performance.now();
  const budget = budgetOf(settings, signal);
  const left = [...ends];
  const attempt = async () => {
    times.push(Math.round(performance.now() - startedAt));
    if (left.length > 0) throw left.shift();
    return "done";
  };
  const result = withRetries(budget, attempt, () => {}).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(300_000);
  return { result: await result, times };
}

describe("a call", () => {
  it("is retried after a back-off that doubles, with a random share, up to maxDelayMs", async () => {
    const { result, times } = await run([1, 2, 3].map(() => failed("after a back-off")));
    expect(result).toBe("done");
    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(100 * 2 ** index);
      expect(wait).toBeLessThanOrEqual(Math.min(1_000, 200 * 2 ** index) + 1);
    }
  });

  it("is retried after 429s at once, since the limiter waits, with a budget of their own", async () => {
    const pauses = Array.from({ length: 5 }, () => failed("after the pause"));
    const { result, times } = await run([failed("after a back-off"), ...pauses, failed("after a back-off")]);
    expect(result).toBe("done");
    expect(times).toHaveLength(8);
  });

  it.each<[string, unknown[], Partial<RetrySettings>, number]>([
    ["a failure that no retry can help", [failed("never")], {}, 1],
    ["the fourth failure", Array.from({ length: 9 }, () => failed("after a back-off")), {}, 4],
    ["the sixth 429", Array.from({ length: 9 }, () => failed("after the pause")), {}, 6],
    ["the first failure without retries", [failed("after a back-off")], { maxRetries: 0 }, 1],
    ["an exception of code", [new TypeError("odd")], {}, 1],
  ])("ends with %s", async (_, ends, settings, attempts) => {
    const { result, times } = await run(ends, { ...SETTINGS, ...settings });
    expect(times).toHaveLength(attempts);
    expect(ends).toContain(result);
  });

  it("waits as long as the service requests, at most a minute", async () => {
    const { times } = await run([failed("after a back-off", 7_000), failed("after a back-off", 3_600_000)]);
    expect(times[1]).toBeGreaterThanOrEqual(7_000);
    expect((times[2] ?? 0) - (times[1] ?? 0)).toBeLessThan(62_000);
  });

  it("that succeeds in the moment of the abort has succeeded", async () => {
    const controller = new AbortController();
    let attempts = 0;
    const attempt = async () => {
      attempts += 1;
      if (attempts === 1) throw failed("after a back-off");
      controller.abort("too late");
      return "done";
    };
    const result = withRetries(budgetOf(SETTINGS, controller.signal), attempt, () => {});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await result).toBe("done");
  });
});

it.each<[string | undefined, string | undefined, number | undefined]>([
  ["7", undefined, 7_000],
  ["0", undefined, 0],
  ["1.5", undefined, 1_500],
  ["Thu, 01 Jan 2015 00:00:05 GMT", "Thu, 01 Jan 2015 00:00:00 GMT", 5_000],
  ["Thu, 01 Jan 2015 00:00:05 GMT", "Thu, 01 Jan 2015 00:01:00 GMT", 0],
  ["Thu, 99 Jan", undefined, undefined],
  ["-5", undefined, undefined],
  ["1e3", undefined, undefined],
  ["soon", undefined, undefined],
  ["", undefined, undefined],
  [undefined, undefined, undefined],
])("Retry-After: %s with Date: %s is %s ms", (value, date, expected) => {
  const headers = { ...(value !== undefined && { "retry-after": value }), ...(date !== undefined && { date }) };
  expect(parseRetryAfterMs(headers)).toBe(expected);
});
