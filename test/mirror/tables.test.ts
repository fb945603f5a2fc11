import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import openApi from "../../openapi.json" with { type: "json" };
import { COPY_FORMAT, createCopySql } from "../../src/mirror/copy/sql.js";
import { RESOURCES, tableOf } from "../../src/mirror/tables.js";
import { postgresDialect, SQLITE_DIALECT } from "../../src/storage/dialect.js";

const SCHEMAS = { items: "Item", lots: "Lot", stockLevels: "StockLevel", warehouseStockLevels: "StockLevel" } as const;

it.each(RESOURCES)("%s have a column for each documented field, in the service's order", (resource) => {
  const columns = Object.keys(tableOf(resource).columns).filter(
    (name) => tableOf(resource).name !== "warehouse_stock_levels" || name !== "wID",
  );
  expect(columns).toEqual(Object.keys(openApi.components.schemas[SCHEMAS[resource]].properties));
});

it("tables that differ have another COPY_FORMAT, so that an older copy is refused", () => {
  const sql = [SQLITE_DIALECT, postgresDialect("stocklot")].flatMap(createCopySql).join("\n");
  const digest = createHash("sha256").update(sql).digest("hex").slice(0, 16);
  expect([COPY_FORMAT, digest]).toEqual([3, "5ff11d3663f8a76a"]);
});
