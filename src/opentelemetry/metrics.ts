import type { BatchObservableCallback, Meter } from "@opentelemetry/api";
import type { ClientState } from "../client/for-add-ons.js";
import { serverAttributes } from "./attributes.js";

/** The bounds that the conventions recommend for HTTP requests, in s. */
const REQUEST_BOUNDARIES_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** A call may wait for several windows of the rate limit. */
const WAIT_BOUNDARIES_S = [...REQUEST_BOUNDARIES_S, 30, 60, 120, 300, 600];

export type Metrics = ReturnType<typeof createMetrics>;

/** All instruments. Durations are in s. */
export function createMetrics(meter: Meter) {
  const duration = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries } });
  const counter = (name: string, description: string, unit: string) => meter.createCounter(name, { description, unit });
  const limits = observeRateLimits(meter);
  return {
    callDuration: duration("stocklot.call.duration", "Calls: waits, attempts and back-offs.", WAIT_BOUNDARIES_S),
    attemptDuration: duration("http.client.request.duration", "HTTP client requests.", REQUEST_BOUNDARIES_S),
    slotWait: duration("stocklot.rate_limit.wait.duration", "Waits of attempts for a slot.", WAIT_BOUNDARIES_S),
    pauseDuration: duration("stocklot.rate_limit.pause.duration", "Pauses after a 429.", WAIT_BOUNDARIES_S),
    retries: counter("stocklot.call.retries", "Retries.", "{retry}"),
    rejections: counter("stocklot.rate_limit.rejections", "Responses with status 429.", "{response}"),
    tokenRequests: counter("stocklot.token.requests", "Calls that requested an access token.", "{call}"),
    addClient: limits.add,
    stop: limits.stop,
  };
}

/** Queue and slots of all clients that have made a call, by server. They are read when metrics are collected. */
function observeRateLimits(meter: Meter) {
  const gauge = (name: string, description: string, unit: string) =>
    meter.createObservableUpDownCounter(`stocklot.rate_limit.${name}`, { description, unit });
  const queued = gauge("queue.length", "Calls that wait for a slot of the rate limit.", "{call}");
  const available = gauge("slots.available", "Slots of the rate limit that are free.", "{slot}");
  /** Clients by origin. Weak references, so that clients that are no longer used can be collected. */
  const clients = new Map<string, Set<WeakRef<ClientState>>>();
  const known = new WeakSet<ClientState>();
  const observe: BatchObservableCallback = (result) => {
    for (const [origin, references] of clients) {
      const open = [...references].flatMap((reference) => {
        const client = reference.deref();
        if (client && !client.isClosed) return [client];
        references.delete(reference);
        return [];
      });
      // Clients that share a limiter count once. If no client is open, 0 is observed: otherwise the SDK would repeat
      // the last number.
      const snapshots = [...new Set(open.map(({ limiter }) => limiter))].map((limiter) => limiter.snapshot());
      const attributes = serverAttributes(new URL(origin));
      const sum = (name: "queued" | "available") => snapshots.reduce((total, snapshot) => total + snapshot[name], 0);
      result.observe(queued, sum("queued"), attributes);
      // A client without a limit has no number of slots.
      if (Number.isFinite(sum("available"))) result.observe(available, sum("available"), attributes);
    }
  };
  meter.addBatchObservableCallback(observe, [queued, available]);
  return {
    add(client: ClientState) {
      if (known.has(client)) return;
      known.add(client);
      const { origin } = new URL(client.url);
      clients.set(origin, (clients.get(origin) ?? new Set()).add(new WeakRef(client)));
    },
    stop: () => meter.removeBatchObservableCallback(observe, [queued, available]),
  };
}
