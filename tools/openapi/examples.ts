import type { JsonObject } from "./json.js";

const item = {
  partNo: 1001,
  shortID: "BOLT-M8",
  description: "Bolt M8 x 40",
  category: 3,
  subCategory: 31,
  uOM: "EA",
  putUp: "Box of 50",
  units: 50,
  dfltOwner: 0,
  created: "2026-01-05T08:30:00Z",
  modified: "2026-02-01T12:00:00Z",
  discontinued: false,
};

const lot = {
  recNo: 100001,
  partNo: item.partNo,
  shortID: item.shortID,
  description: item.description,
  associate: "",
  warehouse: "Central",
  wID: 1,
  spot: "A-01-1",
  units: 12.5,
  received: "2026-02-01T12:00:00Z",
  shipped: null,
  serial: "S-1",
  serial2: null,
  rFIDTag: null,
  remark: "",
  hold: false,
  jobID: 0,
  jobName: null,
  active: true,
};

const stockLevel = {
  partNo: item.partNo,
  available: 10,
  inStock: 12.5,
  onOrder: 0,
  onHold: 2.5,
  committed: 0,
  packed: 0,
  aSN: 0,
};

const page = (record: JsonObject): JsonObject => ({
  value: [record],
  totalCount: 1,
  page: 1,
  pageSize: 25,
  pageCount: 1,
  hasMore: false,
});

/** Valid responses and request bodies. */
export const EXAMPLES = {
  item: { summary: "An item", value: item },
  items: { summary: "The items of a category", value: [item] },
  itemPage: { summary: "A page of items", value: page(item) },
  lotPage: { summary: "A page of lots", value: page(lot) },
  stockLevelPage: { summary: "A page of stock levels", value: page(stockLevel) },
  newItem: { summary: "A new item", value: { shortID: item.shortID, description: item.description, uOM: item.uOM } },
  changes: { summary: "A new description", value: { shortID: item.shortID, description: "Bolt M8 x 40, zinc" } },
  createdReference: { summary: "The item is named", value: { shortID: item.shortID, status: "created" } },
  createdItem: { summary: "The whole item", value: { ...item, active: true } },
  updatedReference: { summary: "The item is named", value: { shortID: item.shortID, status: "updated" } },
  discontinuedReference: { summary: "The item is named", value: { shortID: item.shortID, status: "discontinued" } },
  receipt: {
    summary: "50 units into warehouse 1",
    value: { itemID: item.shortID, units: 50, wid: 1, reasonCode: 1, spot: "A-01-1" },
  },
  moveWithin: {
    summary: "To another bin",
    value: { itemID: item.shortID, units: 5, wid: 1, fromSpot: "A-01-1", toSpot: "B-02-1" },
  },
  moveBetween: {
    summary: "To another warehouse",
    value: { itemID: item.shortID, units: 5, wid: 1, shipToWid: 2, transitSlip: "T-17" },
  },
  issue: {
    summary: "2.5 units out of warehouse 1",
    value: { itemID: item.shortID, units: 2.5, wid: 1, reasonCode: 1 },
  },
  token: { summary: "A token", value: { access_token: "<ACCESS_TOKEN>", token_type: "bearer", expires_in: 3600 } },
} satisfies Readonly<Record<string, JsonObject>>;
