import { ConfigurationError } from "stocklot";
import { describe, expect, it } from "vitest";
import { checkColumns, columnTypes, type SqlTypeNames } from "../../../src/mirror/sinks/copy-tables.js";
import { tableOf } from "../../../src/mirror/tables.js";

const TYPES: SqlTypeNames = { integer: "INTEGER", decimal: "REAL", text: "TEXT", boolean: "INTEGER", extra: "TEXT" };
const table = tableOf("stockLevels");

const changed = (change: (columns: Map<string, string>) => void) => {
  const columns = columnTypes(table, TYPES);
  change(columns);
  return columns;
};

describe("the columns of a table", () => {
  it.each([
    ["they are as they should be", () => {}],
    ["somebody added a column", (columns: Map<string, string>) => columns.set("checked", "TEXT")],
    ["types are in other letter case", (columns: Map<string, string>) => columns.set("packed", "real")],
  ])("are accepted when %s", (_, change) => {
    expect(() => checkColumns(table, TYPES, changed(change))).not.toThrow();
  });

  it.each([
    ["has no key", (columns: Map<string, string>) => columns.delete("partNo"), 'has no column "partNo"'],
    ["has no field", (columns: Map<string, string>) => columns.delete("aSN"), 'has no column "aSN"'],
    [
      "spells a field in other letters",
      (columns: Map<string, string>) => {
        columns.delete("aSN");
        columns.set("asn", "REAL");
      },
      'has no column "aSN"',
    ],
    ["has no extra", (columns: Map<string, string>) => columns.delete("extra"), 'has no column "extra"'],
    [
      "has another primary key",
      (columns: Map<string, string>) => columns.set("partNo", "INTEGER"),
      '"partNo" as INTEGER, not INTEGER PRIMARY KEY',
    ],
    [
      "has a column of another type",
      (columns: Map<string, string>) => columns.set("packed", "TEXT"),
      '"packed" as TEXT, not REAL',
    ],
  ])("are refused when the table %s", (_, change, message) => {
    const look = () => checkColumns(table, TYPES, changed(change));
    expect(look).toThrow(ConfigurationError);
    expect(look).toThrow(message);
  });
});
