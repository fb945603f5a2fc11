import { expect, it } from "vitest";
import { retryWaitMs } from "../../src/client/send/retry.js";

const SETTINGS = { minDelayMs: 500, maxDelayMs: 8_000 };

it.each<[string, Parameters<typeof retryWaitMs>[0], number, number, number]>([
  ["the first back-off", { retry: "after a back-off", retryAfterMs: 0 }, 1, 0, 500],
  ["the first back-off, at most", { retry: "after a back-off", retryAfterMs: 0 }, 1, 1, 1_000],
  ["the third back-off", { retry: "after a back-off", retryAfterMs: 0 }, 3, 0.5, 3_000],
  ["a late back-off", { retry: "after a back-off", retryAfterMs: 0 }, 9, 0, 8_000],
  [
    "a wait that the service asks for, and nothing besides",
    { retry: "after a back-off", retryAfterMs: 2_000 },
    2,
    1,
    2_000,
  ],
  ["a long wait that the service asks for", { retry: "after a back-off", retryAfterMs: 3_600_000 }, 1, 0, 60_000],
  ["a service of this machine that is being started", { retry: "after a moment", retryAfterMs: 0 }, 2, 1, 300],
  ["a pause, which the limiter waits for", { retry: "after the pause", retryAfterMs: 2_000 }, 1, 1, 0],
])("the wait before a retry: %s", (_, failure, round, random, expected) => {
  expect(retryWaitMs(failure, round, SETTINGS, random)).toBe(expected);
});
