import type { RateLimitSnapshot } from "../limiter/rate-limiter.js";
import { forecastMs } from "../paging/forecast.js";
import type { Estimate } from "../paging/page.js";
import type { MirrorReading } from "./report.js";
import type { MirrorResource } from "./tables.js";

/** What the next run is likely to take for one resource. */
export interface MirrorResourceEstimate extends Estimate {
  /** How it will be read. */
  reading: MirrorReading;
}

/** What the next run is likely to take. */
export interface MirrorEstimate extends Estimate {
  /** The same for each resource, and how it will be read. */
  resources: Partial<Record<MirrorResource, MirrorResourceEstimate>>;
}

/** Further pages may use this part of the limit, unless the client says otherwise. */
const BULK_SHARE = 0.9;

/** The estimate of a run, from those of its resources, which share one limit. */
export function estimateOf(
  resources: MirrorEstimate["resources"],
  { available, limit, intervalMs, pausedUntil }: RateLimitSnapshot,
): MirrorEstimate {
  const estimates = Object.values(resources);
  const sum = (name: keyof Estimate) => estimates.reduce((total, estimate) => total + estimate[name], 0);
  const requests = sum("requests");
  const allowance = {
    available,
    share: Math.max(1, Math.floor(limit * BULK_SHARE)),
    intervalMs,
    pausedMs: Math.max(0, (pausedUntil ?? 0) - Date.now()),
  };
  return {
    records: sum("records"),
    pages: sum("pages"),
    requests,
    durationMs: Math.max(sum("durationMs"), forecastMs(requests, 0, allowance)),
    resources,
  };
}
