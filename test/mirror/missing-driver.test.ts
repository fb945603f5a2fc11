import { ConfigurationError } from "stocklot";
import { postgresSink } from "stocklot/mirror";
import { expect, it, vi } from "vitest";
import { SqliteSink } from "../../src/mirror/copy/sqlite.js";
import { loadPackageDriver } from "../../src/storage/sqlite-driver.js";

const missing = () => {
  throw new Error("Cannot find package");
};
vi.mock("@photostructure/sqlite", () => missing());
vi.mock("pg", () => missing());

it.each([
  ["SQLite", new SqliteSink({ path: "/nowhere/at/all.db" }, loadPackageDriver), "npm install @photostructure/sqlite"],
  ["PostgreSQL", postgresSink({ connectionString: "postgres://nobody@127.0.0.1:1/none" }), "npm install pg"],
])("names the package to install if there is no driver for %s, and creates no file", async (_, sink, advice) => {
  await expect(sink.open()).rejects.toThrow(ConfigurationError);
  await expect(sink.open()).rejects.toThrow(advice);
});
