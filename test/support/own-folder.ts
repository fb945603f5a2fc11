import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";

/** A folder of the tests of a file or suite, which is removed after them: the path of a file in it, which is written if it is given a text. */
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
