import { ConfigurationError } from "stocklot";
import { expect, it, vi } from "vitest";
import { loadPackageDriver } from "../../src/storage/sqlite-driver.js";

vi.mock("@photostructure/sqlite", () => ({ DatabaseSync: class DatabaseSync {} }));

it("refuses version 1 of the package, which does not close its files, and says what to install", async () => {
  const loading = loadPackageDriver();
  await expect(loading).rejects.toThrow(ConfigurationError);
  await expect(loading).rejects.toThrow("npm install @photostructure/sqlite@2");
  await expect(loading).rejects.toThrow("--engine-strict=false");
});
