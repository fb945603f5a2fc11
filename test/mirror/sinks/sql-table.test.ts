import { ConfigurationError } from "stocklot";
import { describe, expect, it } from "vitest";
import { columnTypes, missingColumns, type SqlTypeNames } from "../../../src/mirror/sinks/sql-table.js";
import { tableOf } from "../../../src/mirror/tables.js";

const TYPES: SqlTypeNames = { integer: "INTEGER", decimal: "REAL", text: "TEXT", boolean: "INTEGER", extra: "TEXT" };
const table = tableOf("stockLevels");

const changed = (change: (columns: Map<string, string>) => void) => {
  const columns = columnTypes(table, TYPES);
  change(columns);
  return columns;
};

describe("the columns that a table lacks", () => {
  it.each([
    ["none, when it is as it should be", () => {}, []],
    ["none, when somebody added a column", (columns: Map<string, string>) => columns.set("checked", "TEXT"), []],
    ["none, when types are in other letter case", (columns: Map<string, string>) => columns.set("packed", "real"), []],
    ["one that an earlier version did not have", (columns: Map<string, string>) => columns.delete("aSN"), ["aSN"]],
    [
      "one that is spelled in other letters",
      (columns: Map<string, string>) => {
        columns.delete("aSN");
        columns.set("asn", "REAL");
      },
      ["aSN"],
    ],
  ])("are %s", (_, change, missing) => {
    expect(missingColumns(table, TYPES, changed(change))).toEqual(missing);
  });

  it.each([
    ["has no key", (columns: Map<string, string>) => columns.delete("partNo"), 'has no column "partNo"'],
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
  ])("are nobody's business when it %s", (_, change, message) => {
    const look = () => missingColumns(table, TYPES, changed(change));
    expect(look).toThrow(ConfigurationError);
    expect(look).toThrow(message);
  });
});
