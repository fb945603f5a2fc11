/** The lists of a service, and probes of them, one page each. The doctor, `export` and the conformance suite use them. */

import { isSorted } from "../client/for-add-ons.js";
import type {
  InventoryClient,
  InventoryListParams,
  ItemListParams,
  ListOptions,
  Page,
  Paginator,
} from "../client/index.js";
import { type DocumentedList, MAX_PAGE_SIZE } from "../service/lists.js";
import { fieldOf } from "../shared/unknown.js";
import { afterEveryChange } from "./probes.js";

/** A list of any records. */
export type RecordList = Pick<Paginator<object>, "page" | "pages">;

/** The list of that name. Items have no `wid`, and only they may be discontinued. */
export function openList(
  { items, inventory }: InventoryClient,
  name: DocumentedList["name"],
  { wid, includeDiscontinued, ...params }: InventoryListParams & ItemListParams,
  options: ListOptions,
): RecordList {
  if (name === "items") return items.list({ ...params, includeDiscontinued }, options);
  return name === "lots"
    ? inventory.listLots({ ...params, wid }, options)
    : inventory.listStockLevels({ ...params, wid }, options);
}

const unusualDirection = ({ defaultDirection }: DocumentedList) => (defaultDirection === "ASC" ? "DESC" : "ASC");

type PageOfRecords = Pick<Page<object>, "value">;

/** Are `sort`, `direction` and `pageSize` honoured? */
export const sortProbe = {
  params: (list: DocumentedList) =>
    ({ sort: list.stableSort, direction: unusualDirection(list), pageSize: MAX_PAGE_SIZE }) as const,
  /** Undefined if the page is too short to tell. */
  isHonoured: ({ value }: PageOfRecords, list: DocumentedList) =>
    isSorted(
      value.map((record) => fieldOf(record, list.stableSort)),
      unusualDirection(list),
    ),
};

/** Is `modifiedSince` honoured? */
export const modifiedSinceProbe = {
  params: () => ({ modifiedSince: afterEveryChange(Date.now()).toISOString(), pageSize: 1 }),
  /** By the records: `totalCount` may be that of the whole list. */
  isHonoured: ({ value }: PageOfRecords) => value.length === 0,
};
