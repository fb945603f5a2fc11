import type { RequestOptions } from "../../core/request/options.js";
import { PermissionError } from "../../errors/index.js";
import type { ListOptions } from "../../paging/list.js";
import type { Paginator } from "../../paging/paginator.js";
import type { InventoryListParams } from "../../service/list-params.js";
import type { Lot } from "../../service/lot.js";
import type { SendingTime } from "./sending-time.js";

/** The default order of the list. It is set explicitly, since `gapless` uses another order by default. */
const NEWEST_FIRST = { sort: "received", direction: "DESC" } as const;

/** Lists lots of which only `recNo` is checked: fields that the search does not use must not end it. */
export type ListLots = (params: InventoryListParams, options: ListOptions) => Paginator<Lot>;

export interface RecentLotsSettings {
  /** When the receipt was sent. */
  time: SendingTime;
  /** The warehouse of the receipt. */
  wid: number;
  listLots: ListLots;
  /** Called with each lot that was read, which may be older than the receipt. */
  addLot(lot: Lot): void;
}

/** Reads the lots that may have been received since a receipt was sent. */
export class RecentLots {
  readonly #settings: RecentLotsSettings;
  /** Whether all warehouses can be read. */
  isComplete = true;

  constructor(settings: RecentLotsSettings) {
    this.#settings = settings;
  }

  async read(requestOptions: RequestOptions): Promise<void> {
    const { wid } = this.#settings;
    try {
      await this.#readList(this.isComplete ? undefined : wid, requestOptions);
    } catch (error) {
      // A service may allow a request for one warehouse, but not for all warehouses together.
      if (!(error instanceof PermissionError) || error.reason !== "warehouse-out-of-scope" || !this.isComplete) {
        throw error;
      }
      this.isComplete = false;
      await this.#readList(wid, requestOptions);
    }
  }

  async #readList(wid: number | undefined, requestOptions: RequestOptions): Promise<void> {
    const { time, listLots } = this.#settings;
    const options = time.observeClock(requestOptions);
    const params = { ...NEWEST_FIRST, wid };
    const first = await listLots(params, options).page();
    if (this.#startList().addPage(first.value) || !first.hasMore) return;
    // Several pages: lots removed in the meantime must not hide the one searched for.
    const lots = listLots(params, { ...options, readAhead: 0, gapless: true });
    const list = this.#startList();
    for await (const { value } of lots.pages()) if (list.addPage(value)) return;
  }

  /** `addPage` returns true if all further pages are older than the receipt. */
  #startList(): { addPage(lots: readonly Lot[]): boolean } {
    const { time, addLot } = this.#settings;
    let isNewestFirst = true;
    let last: Lot | undefined;
    return {
      addPage(lots) {
        for (const lot of lots) {
          if (last && lot.received > last.received) isNewestFirst = false;
          last = lot;
          addLot(lot);
        }
        // If the service does not sort by this order, only the end of the list ends the search.
        return isNewestFirst && last !== undefined && time.compare(last.received) === "before";
      },
    };
  }
}
