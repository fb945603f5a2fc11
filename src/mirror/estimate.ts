import { estimateFromForecast, type ListForecast } from "../paging/estimate.js";
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
  /** The same per resource, and how it will be read. */
  resources: Partial<Record<MirrorResource, MirrorResourceEstimate>>;
}

/** The same, with the figures that the duration follows from. */
export interface ResourceForecast extends ListForecast {
  reading: MirrorReading;
}

/** The estimate of a run. Its resources are read one after the other, and share one limit. */
export function estimateOfRun(forecasts: ReadonlyMap<MirrorResource, ResourceForecast>): MirrorEstimate {
  const all = [...forecasts.values()];
  const sum = (figure: (forecast: ListForecast) => number) =>
    all.reduce((total, forecast) => total + figure(forecast), 0);
  const requests = sum((forecast) => forecast.requests);
  const run = {
    records: sum(({ records }) => records),
    pages: sum(({ pages }) => pages),
    requests,
    paceMs: sum((forecast) => forecast.requests * forecast.paceMs) / requests,
  };
  const resources: MirrorEstimate["resources"] = {};
  for (const [resource, forecast] of forecasts) {
    resources[resource] = { ...estimateFromForecast(forecast), reading: forecast.reading };
  }
  // The state of the limiter at the last of these requests.
  const allowance = all.at(-1)?.allowance ?? NO_LIMIT;
  return { ...estimateFromForecast({ ...run, allowance }), resources };
}

const NO_LIMIT = { available: Infinity, share: Infinity, intervalMs: 0, pausedMs: 0 };
