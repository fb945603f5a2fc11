import { openList } from "../../bulk/lists.js";
import { askModifiedSince, sortProbe } from "../../bulk/probes.js";
import { aheadMsOf } from "../../client/for-add-ons.js";
import {
  type ClientOptions,
  type HookEvents,
  InventoryClient,
  type Page,
  type RequestOptions,
  type ResponseInfo,
} from "../../client/index.js";
import { type DocumentedList, LISTS } from "../../service/lists.js";
import { READS } from "../../service/operations.js";
import { AuthenticationError, RateLimitError, StocklotError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";

/** A page that was requested, or the reason why there is none. */
export interface ReadPage {
  path: string;
  page?: Page<object>;
  error?: StocklotError;
}

/** Everything that the doctor has read of a service. */
export interface Probe {
  baseUrl: URL;
  /** Why nothing more was read: the connection, the credentials, or the rate limit. */
  failure?: StocklotError;
  /** How long the token is valid, in ms; undefined if there is no token. */
  tokenLifetimeMs?: number;
  /** A page of each list, sorted in its unusual direction, and one of changes in the future. */
  lists: { list: DocumentedList; first: ReadPage; since?: { future: ReadPage; ever: ReadPage | undefined } }[];
  allItems?: ReadPage;
  /** A page of stock levels in the service's own order. */
  unsortedLevels?: ReadPage;
  /** The lots of each warehouse that was seen. */
  warehouses: { wID: number; lots: ReadPage }[];
  /** The responses. Their `durationMs` counts from sending to the last byte, without the wait for a slot or a token. */
  responses: HookEvents["response"][];
  /** How far the service's clock was ahead, in ms, by the `Date` header of each response that has one. */
  skewsMs: number[];
}

const MAX_WAREHOUSES = 3;

/** Sends at most 15 single reads. Writes nothing. */
export async function probeService(options: ClientOptions, signal: AbortSignal, onRequest: () => void): Promise<Probe> {
  const responses: Probe["responses"] = [];
  const client = new InventoryClient({
    ...options,
    // Each failure is a finding, so nothing is retried.
    retry: false,
    hooks: {
      ...options.hooks,
      request: onRequest,
      response: (event) => responses.push(event),
      token: ({ expiresAt }) => {
        probe.tokenLifetimeMs = expiresAt - Date.now();
      },
    },
  });
  const probe: Probe = { baseUrl: new URL(client.service.address), lists: [], warehouses: [], responses, skewsMs: [] };
  const onResponse = ({ headers }: ResponseInfo) => {
    const aheadMs = aheadMsOf(headers);
    if (aheadMs !== undefined) probe.skewsMs.push(aheadMs);
  };
  const read = async (path: string, open: (options: RequestOptions) => { page(): Promise<Page<object>> }) => {
    try {
      return { path, page: await open({ signal, onResponse }).page() };
    } catch (error) {
      const concernsAll = error instanceof AuthenticationError || error instanceof RateLimitError;
      if (concernsAll || !StocklotError.is(error) || probe.tokenLifetimeMs === undefined) throw error;
      return { path, error };
    }
  };

  try {
    for (const list of Object.values(LISTS)) {
      const first = await read(list.path, (given) => openList(client, list.name, sortProbe.params(list), given));
      probe.lists.push({ list, first });
    }
    probe.allItems = await read(READS.listAllItems.path, (given) =>
      client.items.list({ includeDiscontinued: true, pageSize: 1 }, given),
    );
    probe.unsortedLevels = await read(LISTS.stockLevels.path, (given) => client.inventory.listStockLevels({}, given));
    for (const found of probe.lists) {
      if (!found.first.page) continue;
      const { name, path } = found.list;
      found.since = await askModifiedSince((params) => read(path, (given) => openList(client, name, params, given)));
    }
    for (const wID of seenWarehouses(probe).slice(0, MAX_WAREHOUSES)) {
      const list = (given: RequestOptions) => client.inventory.listLots({ wid: wID, pageSize: 1 }, given);
      probe.warehouses.push({ wID, lots: await read(`/Inventory/${wID}`, list) });
    }
  } catch (error) {
    if (signal.aborted || !StocklotError.is(error)) throw error;
    probe.failure = error;
  } finally {
    await client.close();
  }
  return probe;
}

/** Warehouses on the first page of lots, in the order of their IDs. */
function seenWarehouses({ lists }: Probe): number[] {
  const lots = lists.find(({ list }) => list.name === "lots")?.first.page?.value ?? [];
  const ids = lots.map((lot) => fieldOf(lot, "wID")).filter((wID) => Number.isSafeInteger(wID));
  return [...new Set(ids.map(Number))].sort((one, next) => one - next);
}
