import type { InventoryClient } from "../../client.js";
import type { RequestOptions, ResponseInfo } from "../../core/request/options.js";
import { dateHeaderMs } from "../../core/service-clock.js";
import { NotFoundError } from "../../errors/index.js";
import { serviceTimeMs } from "../../schemas/date.js";
import type { Item } from "../../service/item.js";
import type { ItemListParams } from "../../service/list-params.js";
import { MAX_PAGE_SIZE } from "../../service/lists.js";

/** Reads the items of a plan as they are now, and counts the requests. */
export class PresentItems {
  requests = 0;
  /** The service's clock at the first response, in ms since the epoch; `undefined` if responses have no `Date` header. */
  firstDate: number | undefined;
  /** By how many ms the service's clock is ahead. */
  #clockAheadMs: number | undefined;
  readonly #client: InventoryClient;
  readonly #signal: AbortSignal | null | undefined;

  constructor(client: InventoryClient, signal: AbortSignal | null | undefined) {
    this.#client = client;
    this.#signal = signal;
  }

  /**
   * The items with these SKUs; one that does not exist is missing. `listed`: how many items the service lists. Either they are
   * read singly or the list is, whichever takes fewer requests.
   */
  async read(skus: readonly string[], listed: number): Promise<Map<string, Item>> {
    if (skus.length > pagesOf(listed)) return this.#readList(skus, { includeDiscontinued: true });
    const items = new Map<string, Item>();
    for (const sku of skus) {
      const item = await this.readOne(sku);
      if (item) items.set(sku, item);
    }
    return items;
  }

  async readOne(sku: string): Promise<Item | undefined> {
    try {
      return await this.#client.items.get(sku, this.#options());
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  /** The items with these SKUs that were modified since a time of the service's clock, unless the list of them is longer. */
  async readModified(skus: readonly string[], since: number): Promise<Map<string, Item>> {
    const params = { includeDiscontinued: true, modifiedSince: new Date(since) };
    const { totalCount } = await this.#client.items.list({ ...params, pageSize: 1 }, this.#options()).page();
    return pagesOf(totalCount) < skus.length ? this.#readList(skus, params) : new Map();
  }

  /** Whether somebody has changed the item since: then its values are not those that were sent. */
  isModifiedAfter({ modified }: Item, time: number): boolean {
    const modifiedAt = serviceTimeMs(modified) ?? 0;
    return this.#clockAheadMs !== undefined && modifiedAt - this.#clockAheadMs > time + CLOCK_TOLERANCE_MS;
  }

  async #readList(skus: readonly string[], params: ItemListParams): Promise<Map<string, Item>> {
    const wanted = new Set(skus);
    const items = new Map<string, Item>();
    const list = this.#client.items.list(params, { ...this.#options(), gapless: true });
    for await (const item of list) if (wanted.has(item.shortID)) items.set(item.shortID, item);
    return items;
  }

  #options(): RequestOptions {
    const onResponse = ({ attempts, headers }: ResponseInfo) => {
      this.requests += attempts;
      const date = dateHeaderMs(headers);
      if (date === undefined) return;
      this.firstDate ??= date;
      this.#clockAheadMs ??= date - Date.now();
    };
    return { signal: this.#signal, onResponse };
  }
}

/** `Date` headers are in seconds, and a response takes its time. */
const CLOCK_TOLERANCE_MS = 3_000;

/** With gapless, about a tenth more than there are pages. */
const pagesOf = (records: number) => Math.ceil((records * 1.1) / MAX_PAGE_SIZE);
