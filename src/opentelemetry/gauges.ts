import type { Attributes, BatchObservableCallback, Gauge, Histogram, Meter } from "@opentelemetry/api";
import type { ClientState, MirrorRunEvent, OutboxProgressEvent } from "../client/index.js";
import { errorAttributes, serverAttributes } from "./attributes.js";

/** Queue and slots of all clients that have requested a slot, by server. They are read when metrics are collected. */
export class RateLimitGauges {
  /** Weak, so that clients that are no longer used can be collected. */
  readonly #clients = new Set<WeakRef<ClientState>>();
  readonly #known = new WeakSet<ClientState>();
  /** Origins. Without a client that is open they report 0, since the SDK would repeat their last values. */
  readonly #servers = new Set<string>();
  readonly stop: () => void;

  constructor(meter: Meter) {
    const queued = meter.createObservableUpDownCounter("stocklot.rate_limit.queue.length", {
      description: "Calls that wait for a slot of the rate limit.",
      unit: "{call}",
    });
    const available = meter.createObservableUpDownCounter("stocklot.rate_limit.slots.available", {
      description: "Slots of the rate limit that are free.",
      unit: "{slot}",
    });
    const observe: BatchObservableCallback = (result) => {
      for (const [origin, totals] of this.#totals()) {
        const attributes = serverAttributes(new URL(origin));
        result.observe(queued, totals.queued, attributes);
        // A client without a limit has no number of slots.
        if (Number.isFinite(totals.available)) result.observe(available, totals.available, attributes);
      }
    };
    meter.addBatchObservableCallback(observe, [queued, available]);
    this.stop = () => meter.removeBatchObservableCallback(observe, [queued, available]);
  }

  add(client: ClientState): void {
    if (this.#known.has(client)) return;
    this.#known.add(client);
    this.#clients.add(new WeakRef(client));
    this.#servers.add(originOfClient(client));
  }

  /** Clients that share a limiter count once. */
  #totals(): Map<string, { queued: number; available: number }> {
    const totals = new Map([...this.#servers].map((origin) => [origin, { queued: 0, available: 0 }]));
    const limiters = new Set<object>();
    for (const client of this.#openClients()) {
      const { limiter, rateLimit } = client;
      const total = totals.get(originOfClient(client));
      if (!total || limiters.has(limiter)) continue;
      limiters.add(limiter);
      total.queued += rateLimit.queued;
      total.available += rateLimit.available;
    }
    return totals;
  }

  *#openClients(): Generator<ClientState> {
    for (const reference of this.#clients) {
      const client = reference.deref();
      if (client && !client.closed) yield client;
      else this.#clients.delete(reference);
    }
  }
}

const originOfClient = ({ baseUrl }: ClientState) => new URL(baseUrl).origin;

const RESOURCE_ATTRIBUTE = "stocklot.mirror.resource";

/** A run of a mirror may take minutes, in s. */
const RUN_DURATION_BOUNDARIES_S = [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

/** The progress of outboxes and mirrors. */
export class ProgressGauges {
  readonly #entries: Gauge;
  readonly #runDuration: Histogram;
  readonly #records: Gauge;
  /** The time that the copy of each resource shows, in ms since the epoch. */
  readonly #upToDateAt = new Map<string, number>();
  readonly stop: () => void;

  constructor(meter: Meter) {
    this.#entries = meter.createGauge("stocklot.outbox.entries", {
      description: "Entries of the last run of the outbox, by state.",
      unit: "{entry}",
    });
    this.#runDuration = meter.createHistogram("stocklot.mirror.run.duration", {
      description: "Duration of the runs of the mirror.",
      unit: "s",
      advice: { explicitBucketBoundaries: RUN_DURATION_BOUNDARIES_S },
    });
    this.#records = meter.createGauge("stocklot.mirror.records", {
      description: "Records in the copy.",
      unit: "{record}",
    });
    const lag = meter.createObservableGauge("stocklot.mirror.lag", {
      description: "Age of the copy. It grows until the next run.",
      unit: "s",
    });
    const observe: BatchObservableCallback = (result) => {
      for (const [resource, upToDateAt] of this.#upToDateAt) {
        result.observe(lag, (Date.now() - upToDateAt) / 1_000, { [RESOURCE_ATTRIBUTE]: resource });
      }
    };
    meter.addBatchObservableCallback(observe, [lag]);
    this.stop = () => meter.removeBatchObservableCallback(observe, [lag]);
  }

  observeOutbox({ applied, rejected, unknown, pending }: OutboxProgressEvent): void {
    for (const [state, entries] of Object.entries({ applied, rejected, unknown, pending })) {
      this.#entries.record(entries, { "stocklot.outbox.state": state });
    }
  }

  observeMirror({ kind, durationMs, error, resources }: MirrorRunEvent): void {
    const attributes: Attributes = { "stocklot.mirror.run.kind": kind, ...errorAttributes(error) };
    this.#runDuration.record(durationMs / 1_000, attributes);
    for (const [resource, copy] of Object.entries(resources)) {
      if (!copy) continue;
      this.#records.record(copy.records, { [RESOURCE_ATTRIBUTE]: resource });
      if (copy.lagMs !== null) this.#upToDateAt.set(resource, Date.now() - copy.lagMs);
    }
  }
}
