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
  for (const line of [
    /^book a delivery +█+ +\d+ ms$/m,
    /^│ +│ +\+\d+ ms {2}retry reason=HTTP 503$/m,
    /^└─ POST \/api\/v1\/Inventory\/Receive +█+ +\d+ ms {2}201$/m,
    /^http\.client\.request\.duration +\d+ × \d+ ms$/m,
  ])
    expect(stdout).toMatch(line);
});
