import type { Attributes, BatchObservableCallback, Gauge, Histogram, Meter } from "@opentelemetry/api";
import type { MirrorRunEvent, OutboxProgressEvent } from "../core/telemetry/events.js";
import { errorAttributes } from "./attributes.js";

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
  /** Stops the observation. */
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
