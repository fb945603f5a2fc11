import { expect, it } from "vitest";
import openApi from "../../openapi.json" with { type: "json" };
import { RESOURCES, tableOf } from "../../src/mirror/tables.js";

const SCHEMAS = { items: "Item", lots: "Lot", stockLevels: "StockLevel", warehouseStockLevels: "StockLevel" } as const;

it.each(RESOURCES)("%s have a column for each documented field, in the service's order", (resource) => {
  const columns = Object.keys(tableOf(resource).columns).filter(
    (name) => tableOf(resource).name !== "warehouse_stock_levels" || name !== "wID",
  );
  expect(columns).toEqual(Object.keys(openApi.components.schemas[SCHEMAS[resource]].properties));
});
