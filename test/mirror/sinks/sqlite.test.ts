import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { nodeDriver } from "../../../src/mirror/sinks/sqlite/driver.js";
import { describeSink } from "./conformance.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-sqlite-"));
let files = 0;
const newPath = () => join(directory, `copy-${++files}.db`);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

describeSink("@photostructure/sqlite", () => ({ kind: "sqlite", path: newPath(), driver: "package" }));

if (nodeDriver()) describeSink("node:sqlite", () => ({ kind: "sqlite", path: newPath(), driver: "node" }));
else describe.skip(`node:sqlite: Node.js ${process.versions.node} has none`, () => {});
