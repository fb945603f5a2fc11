import type { BatchObservableCallback, Meter } from "@opentelemetry/api";
import type { ClientState } from "../core/telemetry/events.js";
import { serverAttributes } from "./attributes.js";

/** Queue and slots of all clients that have requested a slot, by server. They are read when metrics are collected. */
export class RateLimitGauges {
  /** Weak, so that clients that are no longer used can be collected. */
  readonly #clients = new Set<WeakRef<ClientState>>();
  readonly #known = new WeakSet<ClientState>();
  /** Origins. Without a client that is open they report 0, since the SDK would repeat their last values. */
  readonly #servers = new Set<string>();
  /** Stops the observation. */
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
