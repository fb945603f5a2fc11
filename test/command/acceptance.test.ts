import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InventoryClient } from "stocklot";
import type { Sandbox } from "stocklot/sandbox";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createFreshRandom } from "../support/fresh-random.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { sleep } from "../support/with-server.js";
import { run, serve, start } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-acceptance-"));
afterAll(() => rmSync(directory, { recursive: true }));
const fileNamed = (name: string) => join(directory, name);

const KILLS = 12;

// Each command is a process of its own, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

describe("an import that is killed at random moments", () => {
  it("books each line once", async () => {
    const random = createFreshRandom();
    const { sandbox, env } = await serve({ items: 40, lots: 0, latencyMs: [5, 60] });
    const items = (await clientOf(sandbox).items.list().toArray()).map(({ shortID }) => shortID);
    const remarks = Array.from({ length: 400 }, (_, index) => `line ${index}`);
    const lines = remarks.map((remark, index) => `${items[index % items.length]},1,1,1,${remark}`);
    writeFileSync(fileNamed("killed.csv"), `itemID,units,wid,reasonCode,remark\r\n${lines.join("\r\n")}\r\n`);
    const file = ["import", fileNamed("killed.csv"), "--operation", "receive", "--outbox", fileNamed("killed.db")];
    const args = [...file, "--settle", "300ms", "--timeout", "300ms", "--rate-limit", "100000"];
    const booked = () => sandbox.requests.filter(({ path, status }) => path === "/Inventory/Receive" && status === 201);

    for (let kill = 0; kill < KILLS; kill += 1) {
      const { child, ended } = start(args, env);
      // While it starts and stores lines, or after a random number of them was booked.
      const goal = booked().length + random() * 30;
      const deadline = performance.now() + (kill % 4 === 0 ? random() * 600 : 3_000);
      while (booked().length < goal && performance.now() < deadline) await sleep(1);
      child.kill("SIGKILL");
      await ended;
    }
    const { code, out } = await run(args, env);
    const sent = booked().map(({ body }) => String(Reflect.get(Object(body), "remark")).replace(/^\[sl:\w+\] ?/, ""));
    expect(sent.sort()).toEqual(remarks.sort());
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/^This run: \d+ lines? applied/) });
  });
});

const clientOf = ({ baseUrl, fetch, credentials }: Sandbox) =>
  new InventoryClient({ baseUrl, fetch, ...credentials, rateLimit: false });
