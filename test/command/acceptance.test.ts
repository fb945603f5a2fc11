import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { parse } from "csv-parse/sync";
import { InventoryClient } from "stocklot";
import type { Sandbox } from "stocklot/sandbox";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createFreshRandom } from "../support/fresh-random.js";
import { ONLY_IN_TEST_ALL, RUN_ALL } from "../support/runs.js";
import { sleep } from "../support/with-server.js";
import { type Ended, type RunningCommand, run, serve, start } from "./support/run-command.js";

const directory = mkdtempSync(join(tmpdir(), "stocklot-acceptance-"));
afterAll(() => rmSync(directory, { recursive: true }));
const fileNamed = (name: string) => join(directory, name);

const MOST_MEGABYTES = 250;
const LOTS = 100_000;
const KILLS = 12;

/** Waits for the end; returns the largest memory of the process too, in MB, on Linux. */
async function withPeakMemory({ child, ended }: RunningCommand): Promise<Ended & { peakMegabytes: number }> {
  let peakMegabytes = 0;
  const sample = () => {
    const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
    if (kilobytes !== undefined) peakMegabytes = Number(kilobytes) / 1_000;
  };
  const timer = process.platform === "linux" ? setInterval(sample, 20) : undefined;
  try {
    return { ...(await ended), peakMegabytes };
  } finally {
    clearInterval(timer);
  }
}

// Each command is a process of its own, which takes seconds.
beforeEach(({ skip }) => skip(!RUN_ALL, ONLY_IN_TEST_ALL));

describe("in bounded memory", () => {
  it(`exports ${LOTS} lots that equal those of the service`, async () => {
    const { sandbox, env } = await serve({ items: 1_000, lots: LOTS });
    const lots = await clientOf(sandbox).inventory.listLots().toArray();
    const args = ["export", "lots", "--rate-limit", "1000000", "--output"];
    const csv = await withPeakMemory(start([...args, fileNamed("lots.csv")], env));
    const ndjson = await withPeakMemory(start([...args, fileNamed("lots.ndjson")], env));
    expect([csv.code, ndjson.code]).toEqual([0, 0]);
    expect(Math.max(csv.peakMegabytes, ndjson.peakMegabytes)).toBeLessThan(MOST_MEGABYTES);
    const byRecNo = (one: { recNo: number | string }, other: { recNo: number | string }) =>
      Number(one.recNo) - Number(other.recNo);
    const exported = readFileSync(fileNamed("lots.ndjson"), "utf8").trimEnd().split("\n");
    expect(exported.map((line) => JSON.parse(line)).sort(byRecNo)).toEqual([...lots].sort(byRecNo));
    const cells: ({ recNo: string } & Record<string, string>)[] = parse(readFileSync(fileNamed("lots.csv")), {
      columns: true,
    });
    const asText = (lot: object) =>
      Object.fromEntries(Object.entries(lot).map(([name, value]) => [name, value === null ? "" : String(value)]));
    expect(cells.sort(byRecNo)).toEqual([...lots].sort(byRecNo).map(asText));
  });

  it("validates a CSV file of 50 MB", async () => {
    const line = `BOLT-M8,5,1,1,${"x".repeat(100)}\n`;
    const count = Math.ceil(50_000_000 / line.length);
    const file = fileNamed("large.csv");
    await pipeline(function* () {
      yield "itemID,units,wid,reasonCode,remark\n";
      for (let written = 0; written < count; written += 1_000) yield line.repeat(Math.min(1_000, count - written));
    }, createWriteStream(file));
    expect(statSync(file).size).toBeGreaterThan(50_000_000);
    const args = ["import", file, "--operation", "receive", "--outbox", fileNamed("large.db"), "--dry-run"];
    const { code, out, peakMegabytes } = await withPeakMemory(start(args, {}));
    expect({ code, out }).toEqual({ code: 0, out: `${count} lines are valid.\n` });
    // The file itself is in memory, since it is read once; its lines are not.
    expect(peakMegabytes).toBeLessThan(MOST_MEGABYTES + 50);
  });
});

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
