import { describe, expect, it } from "vitest";
import { ErrorResponse, mayHaveBeenApplied } from "../../src/client/send/failure.js";
import {
  type AttemptOutcome,
  choosePause,
  DEFAULT_RETRY_SETTINGS,
  decideRetry,
  type RetryState,
} from "../../src/client/send/retry-policy.js";
import { TransportFailure } from "../../src/client/transport/transport.js";

const first: RetryState = { isIdempotent: true, retries: 0, rateLimitRetries: 0, authRetries: 0 };
const status = (code: number, retryAfterMs?: number): AttemptOutcome => ({ sent: true, status: code, retryAfterMs });
const notSent: AttemptOutcome = { sent: false };
const expired: AttemptOutcome = { sent: false, slotExpired: true };
const lost: AttemptOutcome = { sent: true };

describe("whether a call is repeated", () => {
  const rows: [what: string, outcome: AttemptOutcome, state: Partial<RetryState>, retried: boolean][] = [
    ["a read after a lost response", lost, {}, true],
    ["a read after 408", status(408), {}, true],
    ["a read after 500", status(500), {}, true],
    ["a read after 503", status(503), {}, true],
    ["a read after 501", status(501), {}, false],
    ["a read after 400", status(400), {}, false],
    ["a read after 404", status(404), {}, false],
    ["a read after a redirect", status(302), {}, false],
    ["a read whose retries are used up", lost, { retries: 3 }, false],
    ["a read after 429", status(429), {}, true],
    ["a read after 429, however many other retries it had", status(429), { retries: 3 }, true],
    ["a read after the sixth 429", status(429), { rateLimitRetries: 5 }, false],
    ["a read after the first 401", status(401), {}, true],
    ["a read after the second 401", status(401), { authRetries: 1 }, false],
    ["a write that was not sent", notSent, { isIdempotent: false }, true],
    ["a write whose slot had expired, however often", expired, { isIdempotent: false, retries: 3 }, true],
    ["a write after 401", status(401), { isIdempotent: false }, true],
    ["a write after 429", status(429), { isIdempotent: false }, true],
    ["a write after a lost response", lost, { isIdempotent: false }, false],
    ["a write after 408", status(408), { isIdempotent: false }, false],
    ["a write after 500", status(500), { isIdempotent: false }, false],
    ["a write after 503 with Retry-After", status(503, 1_000), { isIdempotent: false }, false],
  ];
  it.each(rows)("%s", (_, outcome, state, retried) => {
    expect(decideRetry(outcome, { ...first, ...state }, DEFAULT_RETRY_SETTINGS) !== undefined).toBe(retried);
  });

  it("counts 401, 429 and other failures apart", () => {
    const counts = (outcome: AttemptOutcome) => decideRetry(outcome, first, DEFAULT_RETRY_SETTINGS)?.budget;
    expect([counts(status(401)), counts(status(429)), counts(lost), counts(expired)]).toEqual([
      "authRetries",
      "rateLimitRetries",
      "retries",
      undefined,
    ]);
  });
});

describe("the back-off", () => {
  const delay = (outcome: AttemptOutcome, retries: number, random: number) =>
    decideRetry(outcome, { ...first, retries }, { ...DEFAULT_RETRY_SETTINGS, maxRetries: 9 }, random)?.delayMs;

  it.each([
    [0, 0, 0],
    [0, 0.5, 250],
    [0, 1, 500],
    [1, 1, 1_000],
    [3, 1, 4_000],
    [4, 1, 8_000],
    [8, 1, 8_000],
  ])("after %i retries with random %f is %i ms", (retries, random, expected) => {
    expect(delay(lost, retries, random)).toBe(expected);
  });

  it("is what the service asks for, up to a minute", () => {
    expect(delay(status(503, 7_000), 0, 0)).toBe(7_000);
    expect(delay(status(503, 3_600_000), 0, 0)).toBe(60_000);
  });

  it("is nothing after 401 and 429: the limiter waits for all calls", () => {
    expect(delay(status(401), 0, 1)).toBe(0);
    expect(delay(status(429, 40_000), 0, 1)).toBe(0);
  });
});

describe("the pause after a 429", () => {
  it.each([
    [undefined, 0, 30_000],
    [undefined, 0.5, 45_000],
    [undefined, 1, 60_000],
    [5_000, 1, 5_000],
    [0, 1, 0],
    [3_600_000, 1, 3_600_000],
    [86_400_000, 1, 3_600_000],
  ])("with Retry-After %s ms and random %f is %i ms", (retryAfter, random, expected) => {
    expect(choosePause(retryAfter, DEFAULT_RETRY_SETTINGS, random).pauseMs).toBe(expected);
  });

  it.each<[[number, number], number, number]>([
    [[Infinity, Infinity], 0, 3_600_000],
    [[Infinity, Infinity], 1, 3_600_000],
    [[600_000, Infinity], 0, 600_000],
    [[600_000, Infinity], 0.5, 2_100_000],
    [[7_200_000, 9_000_000], 0.5, 3_600_000],
  ])("with rateLimitDelayMs %j and random %f is %i ms: an hour at most", (rateLimitDelayMs, random, expected) => {
    const settings = { ...DEFAULT_RETRY_SETTINGS, rateLimitDelayMs };
    expect(choosePause(undefined, settings, random)).toEqual({ pauseMs: expected, isShortened: true });
  });
});

it("leaves open what the service did after a lost response, 302, 303, 408 and 5xx other than 501", () => {
  const isOpen = (failure: Error, sent = true) => {
    const attemptTrace = { startedAt: 0, sent, headAt: undefined, head: undefined };
    return mayHaveBeenApplied({ request: { method: "POST", path: "/Item" }, attemptTrace }, failure);
  };
  const responded = (code: number) => isOpen(new ErrorResponse({ status: code, headers: {}, body: new Uint8Array() }));
  expect([302, 303, 408, 500, 502, 503, 504].filter(responded)).toEqual([302, 303, 408, 500, 502, 503, 504]);
  expect([400, 401, 404, 429, 501, 301, 307].filter(responded)).toEqual([]);
  expect(isOpen(new TransportFailure("connection"))).toBe(true);
  expect(isOpen(new TransportFailure("connection"), false)).toBe(false);
});
