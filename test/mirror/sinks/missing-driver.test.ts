import { ConfigurationError } from "stocklot";
import { postgresSink } from "stocklot/mirror";
import { expect, it, vi } from "vitest";
import { SqliteSink } from "../../../src/mirror/sinks/sqlite-sink.js";
import { loadPackageDriver } from "../../../src/storage/sqlite/driver.js";

const missing = () => {
  throw new Error("Cannot find package");
};
vi.mock("@photostructure/sqlite", () => missing());
vi.mock("pg", () => missing());

it("names the package to install if there is no driver for SQLite, and creates no file", async () => {
  const opening = new SqliteSink({ path: "/nowhere/at/all.db" }, loadPackageDriver).open();
  await expect(opening).rejects.toThrow(ConfigurationError);
  await expect(opening).rejects.toThrow("npm install @photostructure/sqlite");
});

it("names the package to install if there is no driver for PostgreSQL", async () => {
  const opening = postgresSink({ connectionString: "postgres://nobody@127.0.0.1:1/none" }).open();
  await expect(opening).rejects.toThrow(ConfigurationError);
  await expect(opening).rejects.toThrow("npm install pg");
});
