import { expect, it } from "vitest";
import { RESOURCES, tableOf } from "../../src/mirror/tables.js";

it("the tables have a column for each documented field, in the service's order", () => {
  const tables = RESOURCES.map((resource) => {
    const { name, key, columns } = tableOf(resource);
    return [name, key, Object.entries(columns).map(([column, type]) => `${column} ${type}`)];
  });
  expect(tables).toMatchInlineSnapshot(`
    [
      [
        "items",
        [
          "partNo",
        ],
        [
          "partNo integer",
          "shortID text",
          "description text",
          "category integer",
          "subCategory integer",
          "uOM text",
          "putUp text",
          "units decimal",
          "dfltOwner integer",
          "created text",
          "modified text",
          "discontinued boolean",
        ],
      ],
      [
        "lots",
        [
          "recNo",
        ],
        [
          "recNo integer",
          "partNo integer",
          "shortID text",
          "description text",
          "associate text",
          "warehouse text",
          "wID integer",
          "spot text",
          "units decimal",
          "received text",
          "shipped text",
          "serial text",
          "serial2 text",
          "rFIDTag text",
          "remark text",
          "hold boolean",
          "jobID integer",
          "jobName text",
          "active boolean",
        ],
      ],
      [
        "stock_levels",
        [
          "partNo",
        ],
        [
          "partNo integer",
          "available decimal",
          "inStock decimal",
          "onOrder decimal",
          "onHold decimal",
          "committed decimal",
          "packed decimal",
          "aSN decimal",
        ],
      ],
      [
        "warehouse_stock_levels",
        [
          "wID",
          "partNo",
        ],
        [
          "wID integer",
          "partNo integer",
          "available decimal",
          "inStock decimal",
          "onOrder decimal",
          "onHold decimal",
          "committed decimal",
          "packed decimal",
          "aSN decimal",
        ],
      ],
    ]
  `);
});
