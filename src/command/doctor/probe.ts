import {
  type ClientOptions,
  InventoryClient,
  type Page,
  type RequestOptions,
  type ResponseInfo,
} from "../../client/index.js";
import { type DocumentedList, LISTS } from "../../service/lists.js";
import { READS, TOKEN_REQUEST } from "../../service/operations.js";
import { ApiError, StocklotError } from "../../shared/errors/index.js";
import { fieldOf } from "../../shared/unknown.js";
import { modifiedSinceProbe, openList, type RecordList, sortProbe } from "../list-probes.js";

/** One page that was requested, or why there is none. */
export interface Reading {
  path: string;
  page?: Page<object>;
  error?: StocklotError;
  /** Undefined if there is none. */
  response?: ResponseInfo;
  /** When the response was there, in ms since the epoch. */
  receivedAt: number;
  /** From sending to the last byte, in ms: without waiting for a slot or a token. */
  durationMs: number;
}

/** What the doctor has read of a service. */
export interface Probe {
  baseUrl: URL;
  /** Why nothing more was read: the connection, the credentials, or the rate limit. */
  failure?: StocklotError;
  /** For how long the token is valid, in ms; undefined if there is none. */
  tokenLifetimeMs?: number;
  /** A page of each list, sorted in its unusual direction, and one of changes in the future. */
  lists: { list: DocumentedList; first: Reading; since?: Reading }[];
  allItems?: Reading;
  /** The lots of each warehouse that was seen. */
  warehouses: { wID: number; lots: Reading }[];
}

const MAX_WAREHOUSES = 4;

/** Sends single reads, about a dozen. Writes nothing. */
export async function probeService(
  options: ClientOptions & { baseUrl: string },
  signal: AbortSignal,
  onRequest: () => void,
): Promise<Probe> {
  const probe: Probe = { baseUrl: new URL(options.baseUrl), lists: [], warehouses: [] };
  let lastDurationMs = 0;
  let tokenRequestedAt = Date.now();
  const client = new InventoryClient({
    ...options,
    // What fails is a finding.
    retry: false,
    hooks: {
      ...options.hooks,
      request: ({ path }) => {
        onRequest();
        if (path === TOKEN_REQUEST.path) tokenRequestedAt = Date.now();
      },
      response: ({ durationMs }) => {
        lastDurationMs = durationMs;
      },
    },
    tokenStore: {
      get: async () => undefined,
      set: async ({ expiresAt }) => {
        probe.tokenLifetimeMs = expiresAt - tokenRequestedAt;
      },
      delete: async () => {},
    },
  });

  const read = async (path: string, open: (options: RequestOptions) => Pick<RecordList, "page">): Promise<Reading> => {
    const reading: Reading = { path, receivedAt: 0, durationMs: 0 };
    const onResponse = (response: ResponseInfo) => Object.assign(reading, { response });
    try {
      reading.page = await open({ signal, onResponse }).page();
    } catch (error) {
      if (!StocklotError.is(error)) throw error;
      const isOfService = error instanceof ApiError && [401, 429].includes(error.status);
      if (isOfService || probe.tokenLifetimeMs === undefined) throw error;
      reading.error = error;
    }
    return Object.assign(reading, { receivedAt: Date.now(), durationMs: lastDurationMs });
  };

  try {
    for (const list of Object.values(LISTS)) {
      const first = await read(list.path, (given) => openList(client, list.name, sortProbe.params(list), given));
      probe.lists.push({ list, first });
    }
    probe.allItems = await read(READS.listAllItems.path, (given) =>
      client.items.list({ includeDiscontinued: true, pageSize: 1 }, given),
    );
    for (const found of probe.lists) {
      if (!found.first.page) continue;
      const { name, path } = found.list;
      found.since = await read(path, (given) => openList(client, name, modifiedSinceProbe.params(), given));
    }
    for (const wID of seenWarehouses(probe).slice(0, MAX_WAREHOUSES)) {
      const lots = await read(`/Inventory/${wID}`, (given) =>
        client.inventory.listLots({ wid: wID, pageSize: 1 }, given),
      );
      probe.warehouses.push({ wID, lots });
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
