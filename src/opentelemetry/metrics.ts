import type { Attributes, BatchObservableCallback, Meter } from "@opentelemetry/api";
import type { ClientState, ProgressEvent } from "../client/for-add-ons.js";
import { errorAttributes, serverAttributes } from "./attributes.js";

/** The bounds that the conventions recommend for HTTP requests, in s. */
const REQUEST_BOUNDARIES_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** A call may wait for several windows of the rate limit. */
const WAIT_BOUNDARIES_S = [...REQUEST_BOUNDARIES_S, 30, 60, 120, 300, 600];
/** A run of a mirror may take minutes. */
const RUN_BOUNDARIES_S = [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

export type Metrics = ReturnType<typeof createMetrics>;

/** All instruments. Durations are in s. */
export function createMetrics(meter: Meter) {
  const duration = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries } });
  const counter = (name: string, description: string, unit: string) => meter.createCounter(name, { description, unit });
  const calls = {
    callDuration: duration(
      "stocklot.call.duration",
      "Duration of calls, with their waits, attempts and back-offs.",
      WAIT_BOUNDARIES_S,
    ),
    attemptDuration: duration(
      "http.client.request.duration",
      "Duration of HTTP client requests.",
      REQUEST_BOUNDARIES_S,
    ),
    slotWait: duration(
      "stocklot.rate_limit.wait.duration",
      "Time that attempts waited for a slot of the rate limit.",
      WAIT_BOUNDARIES_S,
    ),
    pauseDuration: duration(
      "stocklot.rate_limit.pause.duration",
      "Length of the pauses after a 429.",
      WAIT_BOUNDARIES_S,
    ),
    retries: counter("stocklot.call.retries", "Retries.", "{retry}"),
    rejections: counter("stocklot.rate_limit.rejections", "Responses with status 429.", "{response}"),
    tokenRequests: counter("stocklot.token.requests", "Calls that requested an access token.", "{call}"),
  };
  const limits = observeRateLimits(meter);
  const progress = observeProgress(meter);
  return {
    ...calls,
    addClient: limits.add,
    progress: progress.report,
    stop() {
      limits.stop();
      progress.stop();
    },
  };
}

/** Queue and slots of all clients that have made a call, by server. They are read when metrics are collected. */
function observeRateLimits(meter: Meter) {
  const queued = meter.createObservableUpDownCounter("stocklot.rate_limit.queue.length", {
    description: "Calls that wait for a slot of the rate limit.",
    unit: "{call}",
  });
  const available = meter.createObservableUpDownCounter("stocklot.rate_limit.slots.available", {
    description: "Slots of the rate limit that are free.",
    unit: "{slot}",
  });
  /** Weak, so that clients that are no longer used can be collected. */
  const clients = new Set<WeakRef<ClientState>>();
  const known = new WeakSet<ClientState>();
  /** Origins. Without a client that is open they report 0, since the SDK would repeat their last values. */
  const servers = new Set<string>();
  const observe: BatchObservableCallback = (result) => {
    const totals = new Map([...servers].map((origin) => [origin, { queued: 0, available: 0 }]));
    // Clients that share a limiter count once.
    const limiters = new Set<object>();
    for (const reference of clients) {
      const client = reference.deref();
      if (!client || client.isClosed) {
        clients.delete(reference);
        continue;
      }
      const total = totals.get(new URL(client.url).origin);
      if (!total || limiters.has(client.limiter)) continue;
      limiters.add(client.limiter);
      const snapshot = client.limiter.snapshot();
      total.queued += snapshot.queued;
      total.available += snapshot.available;
    }
    for (const [origin, total] of totals) {
      const attributes = serverAttributes(new URL(origin));
      result.observe(queued, total.queued, attributes);
      // A client without a limit has no number of slots.
      if (Number.isFinite(total.available)) result.observe(available, total.available, attributes);
    }
  };
  meter.addBatchObservableCallback(observe, [queued, available]);
  return {
    add(client: ClientState) {
      if (known.has(client)) return;
      known.add(client);
      clients.add(new WeakRef(client));
      servers.add(new URL(client.url).origin);
    },
    stop: () => meter.removeBatchObservableCallback(observe, [queued, available]),
  };
}

/** The progress of outboxes and mirrors. */
function observeProgress(meter: Meter) {
  const entries = meter.createGauge("stocklot.outbox.entries", {
    description: "Entries of the last run of the outbox, by state.",
    unit: "{entry}",
  });
  const runDuration = meter.createHistogram("stocklot.mirror.run.duration", {
    description: "Duration of the runs of the mirror.",
    unit: "s",
    advice: { explicitBucketBoundaries: RUN_BOUNDARIES_S },
  });
  const records = meter.createGauge("stocklot.mirror.records", {
    description: "Records in the copy.",
    unit: "{record}",
  });
  const lag = meter.createObservableGauge("stocklot.mirror.lag", {
    description: "Age of the copy. It grows until the next run.",
    unit: "s",
  });
  /** The time that the copy of each list shows, in ms since the epoch. */
  const upToDateAt = new Map<string, number>();
  const listAttribute = (list: string): Attributes => ({ "stocklot.mirror.resource": list });
  const observe: BatchObservableCallback = (result) => {
    for (const [list, time] of upToDateAt) result.observe(lag, (Date.now() - time) / 1_000, listAttribute(list));
  };
  meter.addBatchObservableCallback(observe, [lag]);
  return {
    report(event: ProgressEvent) {
      if (event.source === "outbox") {
        const { applied, rejected, unknown, pending } = event;
        for (const [state, count] of Object.entries({ applied, rejected, unknown, pending }))
          entries.record(count, { "stocklot.outbox.state": state });
        return;
      }
      runDuration.record(event.durationMs / 1_000, {
        "stocklot.mirror.run.kind": event.kind,
        ...errorAttributes(event.error),
      });
      for (const [list, copy] of Object.entries(event.lists)) {
        records.record(copy.records, listAttribute(list));
        if (copy.lagMs !== null) upToDateAt.set(list, Date.now() - copy.lagMs);
      }
    },
    stop: () => meter.removeBatchObservableCallback(observe, [lag]),
  };
}
