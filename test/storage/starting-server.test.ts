import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { StorageError } from "../../src/index.js";
import { createMirror, openCopy, postgresSink } from "../../src/mirror/index.js";
import { postgresOutboxStore } from "../../src/outbox/index.js";
import { createWorld, receipt } from "../outbox/support/world.js";
import { findPostgres } from "../support/postgres-server.js";
import { sleep } from "../support/with-server.js";
import { brokenNetwork } from "./support/broken-network.js";

/*
 * A PostgreSQL server that is started or restarted. First, connections are refused, then the server replies that it is starting.
 */

const postgres = await findPostgres();
afterAll(() => postgres?.close());
const connectionString = postgres?.url ?? "";
let names = 0;
const LEASE_MS = 1_000;

/** Creates an outbox and a mirror whose database is behind a network that can fail. */
async function programs() {
  const network = await brokenNetwork(connectionString);
  onTestFinished(network.close);
  const place = { connectionString: network.url, schema: `starting_${process.pid}_${names++}` };
  const world = createWorld();
  // Long time limits, because a write that is answered too late on a busy machine would be looked up.
  const outbox = world.createOutbox(
    { store: postgresOutboxStore(place), leaseMs: LEASE_MS, settleMs: 2_000 },
    { timeoutMs: 2_000 },
  );
  onTestFinished(() => outbox.close());
  const sink = postgresSink(place);
  const mirror = createMirror({ client: world.createClient(), sink });
  await outbox.add(receipt("before"));
  await mirror.run();
  return { network, world, outbox, mirror, sink };
}

/** Returns how long a call takes to end, in ms, and its error. */
async function endOf(promise: Promise<unknown>): Promise<{ ms: number; error: unknown }> {
  const startedAt = performance.now();
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { ms: performance.now() - startedAt, error };
}

describe("a PostgreSQL server that is starting", () => {
  beforeEach(({ skip }) => skip(!postgres, "there is no PostgreSQL"));

  it.each(["down", "starting"] as const)("is waited for by outbox, mirror and readers while it is %s", async (how) => {
    const { network, world, outbox, mirror, sink } = await programs();
    await network.refuse(how);
    const copy = openCopy(sink);
    const calls = [outbox.add(receipt("meanwhile")), outbox.summary(), outbox.run(), mirror.run({ full: true }), copy];
    const ends = Promise.all(calls);
    ends.catch(() => {});
    await sleep(1_500);
    await network.repair();
    await ends;
    await (await copy).close();
    await outbox.run();
    expect(await outbox.summary()).toMatchObject({ applied: 2, pending: 0 });
    expect(world.effects()).toBe(2);
  });

  it("is waited for when it restarts while an outbox sends and a mirror reads", async ({ skip }) => {
    const restart = postgres?.restart ?? skip("the server is not that of the test");
    const { world, outbox, mirror } = await programs();
    for (let count = 0; count < 12; count += 1) await outbox.add(receipt(`k${count}`, { serial: `S${count}` }));
    let restarted: Promise<void> | undefined;
    world.onWrite = async (_, send) => {
      restarted ??= restart(500);
      await sleep(20);
      return send();
    };
    const copying = endOf(
      (async () => {
        while (restarted === undefined) await sleep(10);
        return mirror.run({ full: true });
      })(),
    );
    expect((await endOf(outbox.run())).error).toBeUndefined();
    await restarted;
    expect((await copying).error).toBeUndefined();
    expect(await outbox.summary()).toMatchObject({ applied: 13 });
    expect(world.effects()).toBe(13);
  });

  it("is waited for at most a few seconds while nobody listens: the address may be wrong", async () => {
    const { network, outbox, mirror } = await programs();
    await network.refuse("down");
    const ends = await Promise.all([outbox.add(receipt("a")), outbox.run(), mirror.run(), mirror.status()].map(endOf));
    for (const { ms, error } of ends) {
      expect(error).toBeInstanceOf(StorageError);
      expect(String(error)).toContain("ECONNREFUSED");
      expect(ms).toBeGreaterThan(1_000);
      // A call of the outbox may connect twice.
      expect(ms).toBeLessThan(15_000);
    }
  });

  it.each(["down", "starting"] as const)("keeps nobody from ending while it is %s", async (how) => {
    const { network, outbox, mirror } = await programs();
    await network.refuse(how);
    const stop = new AbortController();
    const run = endOf(outbox.run({ signal: stop.signal }));
    const copying = endOf(mirror.run({ signal: stop.signal }));
    const adding = endOf(outbox.add(receipt("a")));
    await sleep(600);
    stop.abort(new Error("stop"));
    expect(await copying).toMatchObject({ error: stop.signal.reason });
    expect((await copying).ms).toBeLessThan(600 + 2_000);
    expect(String((await run).error)).toContain("stop");
    expect((await run).ms).toBeLessThan(600 + LEASE_MS + 2_000);
    expect((await endOf(outbox.close())).ms).toBeLessThan(LEASE_MS + 2_500);
    expect((await adding).error).toBeInstanceOf(Error);
  });
});
