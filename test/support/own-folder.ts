import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";

/** Creates a folder that is removed after the tests. The result returns a path in it, and writes a given text to that file. */
export function ownFolder(): (name?: string, text?: string | Buffer) => string {
  const folder = mkdtempSync(join(tmpdir(), "stocklot-test-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return (name = "", text) => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    if (text !== undefined) writeFileSync(path, text);
    return path;
  };
}
