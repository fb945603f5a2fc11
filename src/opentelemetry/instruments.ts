import type { Counter, Histogram, Meter } from "@opentelemetry/api";

/** The instruments for calls. Durations are in s. */
export interface CallInstruments {
  callDuration: Histogram;
  attemptDuration: Histogram;
  slotWait: Histogram;
  pauseDuration: Histogram;
  retries: Counter;
  rejections: Counter;
  tokenRequests: Counter;
}

/** The bounds that the conventions recommend for HTTP requests, in s. */
const REQUEST_DURATION_BOUNDARIES_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** A call may wait for a whole window of the rate limit, or for several. */
const WAIT_DURATION_BOUNDARIES_S = [...REQUEST_DURATION_BOUNDARIES_S, 30, 60, 120, 300, 600];

export function createCallInstruments(meter: Meter): CallInstruments {
  const duration = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries } });
  return {
    callDuration: duration(
      "stocklot.call.duration",
      "Duration of calls, with their waits, attempts and back-offs.",
      WAIT_DURATION_BOUNDARIES_S,
    ),
    attemptDuration: duration(
      "http.client.request.duration",
      "Duration of HTTP client requests.",
      REQUEST_DURATION_BOUNDARIES_S,
    ),
    slotWait: duration(
      "stocklot.rate_limit.wait.duration",
      "Time that attempts waited for a slot of the rate limit.",
      WAIT_DURATION_BOUNDARIES_S,
    ),
    pauseDuration: duration(
      "stocklot.rate_limit.pause.duration",
      "Length of the pauses after a 429.",
      WAIT_DURATION_BOUNDARIES_S,
    ),
    retries: meter.createCounter("stocklot.call.retries", { description: "Retries.", unit: "{retry}" }),
    rejections: meter.createCounter("stocklot.rate_limit.rejections", {
      description: "Responses with status 429.",
      unit: "{response}",
    }),
    tokenRequests: meter.createCounter("stocklot.token.requests", {
      description: "Calls that requested an access token.",
      unit: "{call}",
    }),
  };
}
