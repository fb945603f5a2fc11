import { statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InventoryClient } from "../../src/index.js";
import { createMirror, sqliteSink } from "../../src/mirror/index.js";
import { collectGarbage } from "../measure.js";
import { lot } from "../records.js";
import type { Section } from "../results.js";

/** The number of runs of each copy. In each run, every lot has changed. The median counts. */
const ROUNDS = 7;
const PAGE_SIZE = 250;

/** Measures what the history of a copy costs per changed record. Runs with and without a history take turns. */
export async function history(quick: boolean): Promise<Section> {
  const lots = quick ? 5_000 : 50_000;
  let round = 0;
  const client = new InventoryClient({
    ...{ baseUrl: "http://127.0.0.1:1/api/v1", clientId: "bench", clientSecret: "secret", rateLimit: false },
    fetch: async (input) => Response.json(respond(new URL(String(input)))),
  });
  const folder = await mkdtemp(join(tmpdir(), "stocklot-bench-"));
  const copies = ["plain", "history"].map((name) => {
    const path = join(folder, `${name}.db`);
    const options = name === "history" ? { history: { days: 90 } } : {};
    const mirror = createMirror({ client, sink: sqliteSink({ path }), resources: ["lots"], ...options });
    return { path, mirror, cpuUs: [] as number[] };
  });
  for (const { mirror } of copies) await mirror.run();
  const [plainBytes = 0, historyBytes = 0] = copies.map(({ path }) => statSync(path).size);
  for (round = 1; round <= ROUNDS; round += 1) {
    for (const { mirror, cpuUs } of round % 2 === 0 ? copies : copies.toReversed()) {
      await collectGarbage();
      const before = process.cpuUsage();
      const { changed } = await mirror.run();
      const { user, system } = process.cpuUsage(before);
      if (changed !== lots) throw new Error(`${changed} of ${lots} lots changed`);
      cpuUs.push((user + system) / lots);
    }
  }
  const [plain = Number.NaN, recorded = Number.NaN] = copies.map(({ cpuUs }) => medianOf(cpuUs));
  const [plainEnd = 0, historyEnd = 0] = copies.map(({ path }) => statSync(path).size);
  const rowBytes = (historyEnd - historyBytes - (plainEnd - plainBytes)) / (lots * ROUNDS);
  await client.close();
  await rm(folder, { recursive: true });
  const cost = recorded - plain;

  return {
    title: "History",
    note: `${lots.toLocaleString("en")} lots in SQLite, in each of which one field changes between two runs: CPU time of the whole run, requests and validation included, per changed record. The median of ${ROUNDS} runs each, in turns.`,
    columns: ["what", "value"],
    rows: [
      ["without a history, per changed record", { value: plain, digits: 1, unit: "µs" }],
      ["with a history, per changed record", { value: recorded, digits: 1, unit: "µs" }],
      ["a row of the history", { value: cost, digits: 1, unit: "µs" }],
      ["a row of the history, in the file", { value: rowBytes, digits: 0, unit: "bytes" }],
    ],
    checks: [{ what: "CPU time with a history ÷ without", value: recorded / plain, atMost: 1.5 }],
  };

  function respond({ pathname, searchParams }: URL): object {
    if (pathname.endsWith("/Token")) return { access_token: "token", token_type: "bearer", expires_in: 3600 };
    const page = Number(searchParams.get("page"));
    const pageSize = Math.min(PAGE_SIZE, Number(searchParams.get("pageSize")));
    const count = Math.min(pageSize, lots - (page - 1) * pageSize);
    const value = Array.from({ length: count }, (_, index) => ({
      ...lot((page - 1) * pageSize + index + 1),
      units: round,
    }));
    const pageCount = Math.ceil(lots / pageSize);
    return { value, totalCount: lots, page, pageSize, pageCount, hasMore: page < pageCount };
  }
}

const medianOf = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
