import type { InventoryListParams } from "../../service/list-params.js";
import type { Lot } from "../../service/lot.js";
import { PermissionError } from "../../shared/errors/index.js";
import type { ListOptions } from "../lists/list.js";
import type { Paginator } from "../lists/paginator.js";
import type { RequestOptions } from "../send/request-options.js";
import type { SendingTime } from "./sending-time.js";

/** The default order of the list. It is set explicitly, since `gapless` uses another order by default. */
const NEWEST_FIRST = { sort: "received", direction: "DESC" } as const;

/** Lists lots of which only `recNo` is checked: fields that the search does not use must not end it. */
export type ListLots = (params: InventoryListParams, options: ListOptions) => Paginator<Lot>;

interface LotReaderOptions {
  /** When the receipt was sent. */
  time: SendingTime;
  /** The warehouse of the receipt. */
  wid: number;
  listLots: ListLots;
  /** Called with each lot that was read, which may be older than the receipt. */
  addLot(lot: Lot): void;
}

/**
 * Returns a function that reads the lots that may have been received since a receipt was sent. It resolves with whether it
 * could read all warehouses.
 */
export function createLotReader({ time, wid, listLots, addLot }: LotReaderOptions) {
  let canReadAll = true;
  return async (requestOptions: RequestOptions): Promise<boolean> => {
    const options = time.observeClock(requestOptions);
    try {
      await readList(canReadAll ? undefined : wid, options);
    } catch (error) {
      // A service may allow a request for one warehouse, but not for all warehouses together.
      if (!(error instanceof PermissionError) || error.reason !== "warehouse-out-of-scope" || !canReadAll) throw error;
      canReadAll = false;
      await readList(wid, options);
    }
    return canReadAll;
  };

  async function readList(wid: number | undefined, options: RequestOptions): Promise<void> {
    const params = { ...NEWEST_FIRST, wid };
    const first = await listLots(params, options).page();
    if (createAgeCheck()(first.value) || !first.hasMore) return;
    // Several pages: lots removed in the meantime must not hide the one searched for.
    const isRestOlder = createAgeCheck();
    const lots = listLots(params, { ...options, readAhead: 0, gapless: true });
    for await (const { value } of lots.pages()) if (isRestOlder(value)) return;
  }

  /** Returns a function that takes the lots of one page after another, and returns true if all further ones are older than the receipt. */
  function createAgeCheck() {
    let isNewestFirst = true;
    let last: Lot | undefined;
    return (lots: readonly Lot[]) => {
      for (const lot of lots) {
        if (last && lot.received > last.received) isNewestFirst = false;
        last = lot;
        addLot(lot);
      }
      // If the service does not sort by this order, only the end of the list ends the search.
      return isNewestFirst && last !== undefined && time.compare(last.received) === "before";
    };
  }
}
