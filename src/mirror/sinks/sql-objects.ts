import { quoteName } from "../../storage/quote-name.js";
import type { MirrorStatusRow } from "../status.js";
import { type Table, tableOf } from "../tables.js";

/** An index for a common query of the copy. */
interface IndexDefinition {
  table: Table;
  columns: readonly string[];
}

/** Functions, since a table is built at its first use. */
const INDEX_DEFINITIONS: readonly (() => IndexDefinition)[] = [
  () => ({ table: tableOf("items"), columns: ["shortID"] }),
  () => ({ table: tableOf("lots"), columns: ["partNo"] }),
  () => ({ table: tableOf("lots"), columns: ["shortID"] }),
  () => ({ table: tableOf("lots"), columns: ["wID", "spot"] }),
  () => ({ table: tableOf("lots"), columns: ["serial"] }),
  () => ({ table: tableOf("warehouseStockLevels"), columns: ["partNo"] }),
];

export const indexName = ({ table, columns }: IndexDefinition) => ["stocklot", table.name, ...columns].join("_");

/**
 * The indexes of a table. They are created when its first scan has ended: with them, a new row takes three times as long.
 * The primary key has its own.
 */
export const indexesOf = (table: Table) =>
  INDEX_DEFINITIONS.map((index) => index()).filter((index) => index.table === table);

/** The command that creates an index. `nameOf` returns the name of a table in SQL. */
export const createIndexSql = (index: IndexDefinition, nameOf: (table: string) => string) =>
  `CREATE INDEX IF NOT EXISTS ${quoteName(indexName(index))} ON ${nameOf(index.table.name)} (${index.columns.map(quoteName)})`;

/** The view that joins stock levels with SKU and description of their item. */
export const STOCK_VIEW = "stock";

/** What the view `stock` selects. */
export function selectStockSql(nameOf: (table: string) => string): string {
  const [partNo = "", ...quantities] = Object.keys(tableOf("stockLevels").columns).map(quoteName);
  const columns = [
    `levels.${partNo}`,
    'items."shortID"',
    'items."description"',
    ...quantities.map((name) => `levels.${name}`),
  ];
  return `SELECT ${columns} FROM ${nameOf("stock_levels")} AS levels LEFT JOIN ${nameOf("items")} AS items ON items.${partNo} = levels.${partNo}`;
}

/** The table with one row, JSON of the status, and the view that shows it as a table. */
export const STATUS_TABLE = "stocklot_status";
export const STATUS_VIEW = "mirror_status";

/** The columns of the view `mirror_status`, in their order, by the type of their values. `lagMs` follows `asOf`. */
export const STATUS_COLUMNS = {
  resource: "text",
  mirrored: "boolean",
  complete: "boolean",
  records: "integer",
  asOf: "text",
  awaitsFullPass: "boolean",
  missing: "integer",
  lastRunStartedAt: "text",
  lastRunEndedAt: "text",
  lastRunKind: "text",
  lastRunError: "text",
} as const satisfies Record<keyof MirrorStatusRow, string>;
