import { NotFoundError } from "../errors/index.js";
import { countPagesAndRequests } from "../paging/estimate.js";
import type { Item } from "../service/item.js";
import type { ItemListParams } from "../service/list-params.js";
import { MAX_PAGE_SIZE } from "../service/lists.js";
import type { PresentState } from "./present-state.js";

/** How many requests it takes to read a list with `gapless`. */
export const requestsForList = (records: number): number =>
  countPagesAndRequests(records, { pageSize: MAX_PAGE_SIZE, gapless: true }).requests;

/** Reads items of a plan as they are now. */
export class PresentItems {
  readonly #state: PresentState;

  constructor(state: PresentState) {
    this.#state = state;
  }

  /**
   * The items with these SKUs; one that does not exist is missing. `listed`: how many items the service lists. Either they are
   * read singly or the list is, whichever takes fewer requests.
   */
  async read(skus: readonly string[], listed: number): Promise<Map<string, Item>> {
    if (skus.length > requestsForList(listed)) return this.#readList(skus, { includeDiscontinued: true });
    const items = new Map<string, Item>();
    for (const sku of skus) {
      const item = await this.readOne(sku);
      if (item) items.set(sku, item);
    }
    return items;
  }

  async readOne(sku: string): Promise<Item | undefined> {
    try {
      return await this.#state.client.items.get(sku, this.#state.options);
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  /** How many items the service lists, discontinued ones included. */
  countListed(): Promise<number> {
    return this.#count({ includeDiscontinued: true });
  }

  /** The items with these SKUs that were modified since a time of the service's clock, unless the list of them is longer. */
  async readModified(skus: readonly string[], since: number): Promise<Map<string, Item>> {
    const params = { includeDiscontinued: true, modifiedSince: new Date(since) };
    return requestsForList(await this.#count(params)) < skus.length ? this.#readList(skus, params) : new Map();
  }

  async #count(params: ItemListParams): Promise<number> {
    const { client, options } = this.#state;
    const { totalCount } = await client.items.list({ ...params, pageSize: 1 }, options).page();
    return totalCount;
  }

  async #readList(skus: readonly string[], params: ItemListParams): Promise<Map<string, Item>> {
    const { client, options } = this.#state;
    const wanted = new Set(skus);
    const items = new Map<string, Item>();
    for await (const item of client.items.list(params, { ...options, gapless: true })) {
      if (wanted.has(item.shortID)) items.set(item.shortID, item);
    }
    return items;
  }
}
