import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { describeSink } from "./conformance.js";

const root = mkdtempSync(join(tmpdir(), "stocklot-ndjson-"));
let directories = 0;
const newDirectory = () => join(root, `copy-${++directories}`);

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("ndjsonSink", () => {
  describeSink("as every sink", () => ({ kind: "ndjson", directory: newDirectory() }));
});
