import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createMirror, type MirrorSink, postgresSink, sqliteSink } from "../../src/mirror/index.js";
import { findSqliteDriver } from "../../src/storage/sqlite/driver.js";
import { turnsOf } from "../support/loop-time.js";
import { MemorySink } from "../support/memory-sink.js";
import { findPostgres } from "../support/postgres-server.js";
import { seededRandom } from "../unit/paging/changing-list.js";
import { ChangingService } from "./support/changing-service.js";

const folder = mkdtempSync(join(tmpdir(), "stocklot-hanging-"));
const postgres = await findPostgres();
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await postgres?.close();
});

function newService() {
  const service = new ChangingService(seededRandom(3));
  for (let left = 10; left > 0; left -= 1) service.addItem();
  for (let left = 300; left > 0; left -= 1) service.addLot();
  return service;
}

/** Aborts the run after a moment, and expects that it ends within two thousand turns of the event loop. */
async function abortedRun(sink: MirrorSink, service = newService()) {
  const mirror = createMirror({ client: service.client(), sink });
  const reason = new Error("enough");
  const stop = new AbortController();
  setTimeout(() => stop.abort(reason), 100);
  const run = mirror.run({ signal: stop.signal });
  expect(await turnsOf(run)).toBeLessThan(2_000);
  await expect(run).rejects.toBe(reason);
  return mirror;
}

describe("a run that is aborted", () => {
  it.each([
    "open",
    "read",
    "commit",
    "keys",
  ] as const)("ends though the sink hangs in %s, and another run may begin", async (method) => {
    const sink = new MemorySink();
    let hangs = true;
    const hanging: MirrorSink = new Proxy(sink, {
      get: (target, name) => {
        if (hangs && name === method) {
          const never = () => new Promise<never>(() => {});
          return method === "keys" ? () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }) : never;
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const service = newService();
    const mirror = await abortedRun(hanging, service);
    hangs = false;
    await mirror.run();
    expect(sink.all("lots")).toEqual(service.records("lots"));
  });

  it("ends though the sink never closes", async () => {
    const sink = new MemorySink();
    sink.beforeCommit = () => {};
    Object.assign(sink, { commit: () => new Promise(() => {}), close: () => new Promise(() => {}) });
    await abortedRun(sink);
  });

  it("ends while SQLite is locked, and its error is not hidden by the sink", async () => {
    const path = join(folder, "locked.db");
    const { DatabaseSync } = await findSqliteDriver();
    const service = newService();
    const mirror = createMirror({ client: service.client(), sink: sqliteSink({ path }) });
    await mirror.run();
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await abortedRun(sqliteSink({ path }), service);
    other.exec("ROLLBACK");
    other.close();
    await mirror.run();
    expect((await mirror.status()).complete).toBe(true);
  });

  it.skipIf(!postgres)("ends while another session has locked a table in PostgreSQL", async () => {
    const schema = `hanging_${process.pid}`;
    const connectionString = postgres?.url ?? "";
    const service = newService();
    const mirror = createMirror({ client: service.client(), sink: postgresSink({ connectionString, schema }) });
    await mirror.run();
    service.advance(3_600_000);
    service.changeLot();
    const other = new Client({ connectionString });
    await other.connect();
    await other.query(`BEGIN; LOCK TABLE ${schema}.lots IN ACCESS EXCLUSIVE MODE`);
    await abortedRun(postgresSink({ connectionString, schema }), service);
    await other.query("ROLLBACK");
    const report = await mirror.run();
    expect(report.resources.lots?.inCopy).toBe(300);
    await other.query(`DROP SCHEMA ${schema} CASCADE`);
    await other.end();
  });
});

it("a run that is not aborted saves how it ended, however long the sink takes", async () => {
  const sink = new MemorySink();
  const mirror = createMirror({ client: newService().client(), sink });
  // Any time limit is over at once.
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(AbortSignal.abort());
  onTestFinished(() => timeout.mockRestore());
  await mirror.run({ signal: new AbortController().signal });
  expect((await mirror.status()).lastRun).not.toHaveProperty("error");
});

it("a graceful stop saves how the run ended", async () => {
  const sink = new MemorySink();
  const mirror = createMirror({ client: newService().client(), sink });
  const stop = new AbortController();
  await mirror.run({ signal: stop.signal, onProgress: () => stop.abort(new Error("deploy")) }).catch(() => {});
  expect((await mirror.status()).lastRun?.error).toEqual({ name: "Error", message: "deploy" });
});
