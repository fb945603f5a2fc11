import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { sqliteOutboxStoreWith } from "../../../src/outbox/stores/sqlite-store.js";
import { nodeDriver, packageDriver } from "../../../src/storage/sqlite/driver.js";
import { describeStore } from "./conformance.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-outbox-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
let files = 0;
const newPath = () => join(directory, `outbox-${++files}.db`);

describe.each(["package", "node"] as const)("sqliteOutboxStore, driver: %s", (name) => {
  const driver = name === "node" ? nodeDriver() : undefined;
  if (name === "node" && !driver) return it.skip(`Node.js ${process.versions.node} has no node:sqlite`);
  const loadDriver = async () => driver ?? (await packageDriver());

  describeStore("as every store", () => {
    const path = newPath();
    return () => sqliteOutboxStoreWith({ path }, { loadDriver });
  });
});
