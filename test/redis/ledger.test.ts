import { afterAll, describe, expect, test } from "vitest";
import { createLedgerExchange, type LedgerRequest, NO_LEDGER_EPOCH } from "../../src/redis/ledger/ledger.js";
import { connect, newKey, sleep } from "./support/limiters.js";
import { findRedis } from "./support/redis-server.js";

const server = await findRedis();
afterAll(() => server?.close());

const SETTINGS = { requests: 40, reserved: 0, intervalMs: 5_000, maxConcurrent: Infinity };
const TIMINGS = { returnMs: 5_000, graceMs: 200, holdMs: 5_200, heartbeatMs: 50 };

/** What a process with this many slots in use reports. */
const report = (held: number, wanted = 0, knownEpoch?: string): LedgerRequest => ({
  knownEpoch,
  heldForMs: { single: Array.from({ length: held }, () => 5_000), bulk: [] },
  wanted: { single: wanted, bulk: 0 },
  pauseMs: 0,
});

describe.skipIf(!server).concurrent("the ledger, while it recovers", () => {
  const processAt = (key: string) => createLedgerExchange(connect(server?.url ?? ""), key, SETTINGS, TIMINGS);

  test("grants a process as many slots again as it held, and others none", async () => {
    const key = newKey();
    const [busy, other] = [processAt(key), processAt(key)];
    await busy(report(20, 0, NO_LEDGER_EPOCH));
    expect((await other(report(0, 5))).granted.single).toBe(0);
    expect((await busy(report(15, 10))).granted.single).toBe(5);
  });

  test("grants nothing to a process that held nothing, also when it asks again", async () => {
    const exchange = processAt(newKey());
    for (const knownEpoch of ["one that is lost", undefined, undefined]) {
      expect((await exchange(report(0, 1, knownEpoch))).granted.single).toBe(0);
    }
  });

  test("a second time, grants a process no more than it holds then, whatever it held the first time", async () => {
    const exchange = processAt(newKey());
    await exchange(report(30, 0, NO_LEDGER_EPOCH));
    await sleep(TIMINGS.graceMs * 1.5);
    expect((await exchange(report(5, 20, NO_LEDGER_EPOCH))).granted.single).toBe(0);
  });

  test("ends although one process always reports that it used slots without the ledger, and keeps those for it", async () => {
    const key = newKey();
    const [slow, other] = [processAt(key), processAt(key)];
    // In-flight requests end while its replies are late; it may use their slots again.
    const reportOfSlow = { ...report(0, 0, NO_LEDGER_EPOCH), heldForMs: { single: [1, 1, 1], bulk: [] } };
    const startedAt = performance.now();
    for (let granted = 0; granted < 37; ) {
      await slow(reportOfSlow);
      await sleep(TIMINGS.graceMs / 4);
      granted += (await other(report(granted, 40))).granted.single;
      expect(granted).toBeLessThanOrEqual(37);
      expect(performance.now() - startedAt).toBeLessThan(20 * TIMINGS.graceMs);
    }
  });
});
