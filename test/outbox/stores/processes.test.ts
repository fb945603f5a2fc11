import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { builtProgram } from "../../support/built-program.js";
import { killAfter } from "../../support/kill-after.js";
import { findPostgres } from "../../support/postgres-server.js";
import { runs } from "../../support/runs.js";
import { newEntry } from "./support/new-entry.js";
import { type StoreSpec, storeAt } from "./support/store-spec.js";

const postgres = await findPostgres();
const directory = mkdtempSync(join(tmpdir(), "stocklot-outbox-processes-"));
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await postgres?.close();
});

const KILLS = runs(40);

const [writer, claimer] = await Promise.all(
  ["writer", "claimer"].map((name) => builtProgram(new URL(`./support/${name}.ts`, import.meta.url))),
);

const start = (program: string | undefined, ...args: string[]): ChildProcess => fork(program ?? expect.fail(), args);

const SPECS: Record<string, (name: string) => StoreSpec> = {
  sqlite: (name) => ({ path: join(directory, `${name}.db`) }),
  ...(postgres && { postgres: (name) => ({ connectionString: postgres.url, schema: `${name}_${process.pid}` }) }),
};

describe.each(Object.keys(SPECS))("processes that share an outbox store in %s", (kind) => {
  const specOf = SPECS[kind] ?? expect.fail();

  it("lose nothing that was acknowledged, wherever they are killed", async () => {
    const spec = specOf("killed");
    let number = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const reported = { added: number - 1, settled: number - 1 };
      const child = start(writer, JSON.stringify(spec), String(number));
      child.on("message", (message) => {
        Object.assign(reported, message);
      });
      // Its reports are, in turn, of entries that it has added and of one that it has settled.
      await killAfter(child, kill % 4);
      const store = storeAt(spec);
      await store.open();
      for (; number <= reported.added; number += 1) {
        const [a, b] = [await store.get(`${number}-a`), await store.get(`${number}-b`)];
        expect(b).toMatchObject({ state: "pending", sequence: (a?.sequence ?? 0) + 1 });
        const isSettled = number <= reported.settled;
        if (isSettled) expect(a).toMatchObject({ state: "applied", attempts: 1, result: `"${number}"` });
      }
      // What was not acknowledged is stored as a whole or not at all.
      const [a, b] = [await store.get(`${number}-a`), await store.get(`${number}-b`)];
      expect(a === undefined).toBe(b === undefined);
      if (a) number += 1;
      const { pending, applied } = await store.count([]);
      expect(pending + applied).toBe(2 * number);
      await store.close();
    }
    expect(number).toBeGreaterThan(KILLS / 2);
  });

  it("never hold an item at once, also while some are killed", async () => {
    const spec = specOf("claims");
    const files = join(directory, `files-${kind}`);
    mkdirSync(files);
    const store = storeAt(spec);
    await store.open();
    const items = Array.from({ length: 100 }, (_, index) => `item-${index}`);
    await store.add(items.flatMap((item) => [1, 2, 3, 4].map((number) => newEntry(`${item}-${number}`, item))));
    const violations: unknown[] = [];
    let lapsed = 0;
    const startClaimer = () => {
      const child = start(claimer, JSON.stringify(spec), files);
      child.on("message", (message) => {
        if (Object.hasOwn(Object(message), "violation")) violations.push(message);
        if (Object.hasOwn(Object(message), "lapsed")) lapsed += 1;
      });
      return child;
    };
    const victim = killAfter(startClaimer(), 5);
    const claimers = [startClaimer(), startClaimer()];
    await victim;
    claimers.push(startClaimer());
    await Promise.all(claimers.map((child) => child.exitCode ?? once(child, "close")));
    expect(violations).toEqual([]);
    const counts = await store.count([]);
    expect(counts).toMatchObject({ applied: 400, pending: 0, sending: 0 });
    // No entry was sent more often than its process was killed, or its lease ended on a slow machine.
    const entries = await store.list({ after: 0, limit: 400 });
    for (const { attempts } of entries) expect(attempts).toBeLessThanOrEqual(2 + lapsed);
    await store.close();
  });
});
