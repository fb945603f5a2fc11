import { estimateFromForecast, type ListForecast } from "../../client/for-add-ons.js";
import type { Estimate } from "../../client/index.js";
import type { MirrorReadMode } from "../report.js";
import { modifiedSinceFor, sinceOf } from "../sync/increment.js";
import { readsOf } from "../sync/list-sync.js";
import type { ListUpdate } from "../sync/list-update.js";
import type { MirrorResource } from "../tables.js";

/** Estimated cost of the next run for one resource. */
export interface MirrorResourceEstimate extends Estimate {
  /**
   * How the resource will be read; if it consists of several lists, how the first one will be. A full pass may follow an
   * increment, which is counted, too.
   */
  mode: MirrorReadMode;
}

/** Estimated cost of the next run. */
export interface MirrorEstimate extends Estimate {
  /** The estimate of each resource, and how it will be read. */
  resources: Partial<Record<MirrorResource, MirrorResourceEstimate>>;
}

interface MirrorListForecast extends ListForecast {
  resource: MirrorResource;
  mode: MirrorReadMode;
}

/**
 * Requests of a run that read no page, by how it reads the list last: how many records there are, and whether `modifiedSince`
 * is honoured.
 */
const EXTRA_REQUESTS_BY_MODE = { first: 3, full: 1, increment: 1 } as const satisfies Record<MirrorReadMode, number>;

/** Estimated cost of updating a list. */
export async function forecastOf(update: ListUpdate): Promise<MirrorListForecast> {
  const { state, settings, reader, list } = update;
  const since = sinceOf(state);
  const forecasts: ListForecast[] = [];
  let mode: MirrorReadMode = "increment";
  for (mode of readsOf(state, settings, Date.now())) {
    const isIncrement = mode === "increment" && since !== undefined;
    forecasts.push(
      await reader.forecast(
        isIncrement ? { modifiedSince: modifiedSinceFor(update, since) } : { from: state.pass?.checkpoint },
      ),
    );
  }
  const sum = sumOfForecasts(forecasts);
  return { ...sum, requests: sum.requests + EXTRA_REQUESTS_BY_MODE[mode], mode, resource: list.resource };
}

/** The estimate of a run. Its lists are read one after the other, and share one limit. */
export function estimateMirrorRun(forecasts: readonly MirrorListForecast[]): MirrorEstimate {
  const resources: MirrorEstimate["resources"] = {};
  for (const { resource, mode } of forecasts) {
    const lists = forecasts.filter((forecast) => forecast.resource === resource);
    resources[resource] ??= { ...estimateFromForecast(sumOfForecasts(lists)), mode };
  }
  return { ...estimateFromForecast(sumOfForecasts(forecasts)), resources };
}

function sumOfForecasts(forecasts: readonly ListForecast[]): ListForecast {
  const sum = (figure: (forecast: ListForecast) => number) =>
    forecasts.reduce((total, forecast) => total + figure(forecast), 0);
  const requests = sum((forecast) => forecast.requests);
  return {
    records: sum(({ records }) => records),
    pages: sum(({ pages }) => pages),
    requests,
    paceMs: sum((forecast) => forecast.requests * forecast.paceMs) / requests,
    // The state of the limiter at the last of these requests.
    allowance: forecasts.at(-1)?.allowance ?? UNLIMITED_ALLOWANCE,
  };
}

const UNLIMITED_ALLOWANCE = { available: Infinity, share: Infinity, intervalMs: 0, pausedMs: 0 };
