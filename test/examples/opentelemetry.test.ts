import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { RUN_ALL } from "../support/runs.js";

const ROOT = new URL("../../", import.meta.url);

it.skipIf(!RUN_ALL)("the example prints its traces as trees, and its metrics", async () => {
  const main = fileURLToPath(new URL("examples/opentelemetry/main.ts", ROOT));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--import", "tsx", main], {
    cwd: fileURLToPath(ROOT),
  });
  expect(stderr).toBe("");
  for (const root of ["count the stock", "book a delivery", "look up what was scanned"])
    expect(stdout).toMatch(new RegExp(`^${root} +█+ +\\d+ ms$`, "m"));
  expect(stdout).toMatch(/^│ {2}├─ POST \/api\/v1\/Token +█+ +\d+ ms {2}200$/m);
  expect(stdout).toMatch(/^│ {2}│ {2}└─ POST \/api\/v1\/Token +█+ +\d+ ms {2}200$/m);
  expect(stdout).toMatch(/^│ +│ +\+\d+ ms {2}retry reason=HTTP 503$/m);
  expect(stdout).toMatch(/^ {3}├─ POST \/api\/v1\/Inventory\/Receive +█+ +\d+ ms {2}429$/m);
  expect(stdout).toMatch(/^└─ POST \/api\/v1\/Inventory\/Receive +█+ +\d+ ms {2}201$/m);
  expect(stdout).toMatch(/^ +│ +\+\d+ ms {2}pause duration_ms=\d+$/m);
  expect(stdout).toMatch(/GET \/api\/v1\/Item +█+ +\d+ ms {2}404 NotFoundError$/m);
  expect(stdout).toMatch(/^http\.client\.request\.duration +\d+ × \d+ ms$/m);
  expect(stdout).toMatch(/^stocklot\.rate_limit\.rejections +1$/m);
});
