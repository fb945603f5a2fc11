import type { InventoryClient } from "../../client.js";
import type { Checkpoint } from "../../paging/checkpoint.js";
import type { ListForecast } from "../../paging/estimate.js";
import type { ListOptions } from "../../paging/list.js";
import type { Page } from "../../paging/page.js";
import type { StockLevel } from "../../schemas/stock-level.js";
import type { MirrorList } from "../copy/lists.js";
import type { MirrorRecords, MirrorResource, WarehouseStockLevel } from "../tables.js";

export interface SourceParams {
  modifiedSince?: Date | undefined;
  pageSize?: number;
}

/** The part of a `Paginator` that a mirror uses. */
export interface SourceList<T> {
  pages(): AsyncIterable<Page<T>>;
  page(): Promise<Page<T>>;
  checkpoint(): Checkpoint | null;
  forecast(): Promise<ListForecast>;
}

/** Starts to read a list of the service. */
export type OpenList<T> = (params: SourceParams, options: ListOptions) => SourceList<T>;

/** The endpoints that list everything, discontinued items included. */
const SOURCE_BY_RESOURCE: {
  readonly [R in MirrorResource]: (client: InventoryClient, wID: number) => OpenList<MirrorRecords[R]>;
} = {
  items:
    ({ items }) =>
    (params, options) =>
      items.list({ ...params, includeDiscontinued: true }, options),
  lots:
    ({ inventory }) =>
    (params, options) =>
      inventory.listLots(params, options),
  stockLevels:
    ({ inventory }) =>
    (params, options) =>
      inventory.listStockLevels(params, options),
  warehouseStockLevels:
    ({ inventory }, wID) =>
    (params, options) =>
      withWarehouse(inventory.listStockLevels({ ...params, wid: wID }, options), wID),
};

export const listSourceOf = <R extends MirrorResource>(client: InventoryClient, { resource, wID = 0 }: MirrorList<R>) =>
  SOURCE_BY_RESOURCE[resource](client, wID);

/** The stock levels of one warehouse do not contain its ID. */
function withWarehouse(levels: SourceList<StockLevel>, wID: number): SourceList<WarehouseStockLevel> {
  const addTo = ({ value, ...page }: Page<StockLevel>) => ({
    ...page,
    value: value.map((level) => ({ ...level, wID })),
  });
  return {
    async *pages() {
      for await (const page of levels.pages()) yield addTo(page);
    },
    page: async () => addTo(await levels.page()),
    checkpoint: () => levels.checkpoint(),
    forecast: () => levels.forecast(),
  };
}
