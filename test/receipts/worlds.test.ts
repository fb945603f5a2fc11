import { OutcomeUnknownError } from "stocklot";
import { createOutbox, sqliteOutboxStore } from "stocklot/outbox";
import { expect, it } from "vitest";
import { ownFolder } from "../support/own-folder.js";
import { createRandom } from "../support/random.js";
import { EXPLORES, worlds } from "../support/runs.js";
import { pick, RECEIVED_ITEMS, randomWorld } from "./random-world.js";

const file = ownFolder();

/** Runs `run` for each seed, 25 at a time, because the worlds mostly wait. */
async function inWorlds(count: number, run: (seed: number) => Promise<void>): Promise<void> {
  const seeds = Array.from({ length: count }, (_, index) => index + 1);
  await Promise.all(
    Array.from({ length: 25 }, async () => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) await run(seed);
    }),
  );
}

const LIMIT_MS = EXPLORES ? 1_200_000 : 120_000;

it(
  "findReceipt never calls an applied receipt not applied, and none applied that was not",
  async () => {
    const outcomes: Record<string, number> = {};
    await inWorlds(worlds(1_000), async (seed) => {
      const random = createRandom(seed);
      const isOrderly = seed % 4 === 0;
      const world = randomWorld(random, { isOrderly, lots: pick(random, [0, 5, 60, 300, 1_200, 2_500]) });
      const client = world.client();
      const { inventory } = client;
      for (let number = 0; number < 3; number += 1) {
        if (isOrderly || random() < 0.6)
          await inventory
            .listLots()
            .page()
            .catch(() => {});
        const remark = `delivery ${seed}-${number}`;
        const isApplied = random() < 0.6;
        world.fate = [isApplied ? "applied and lost" : "lost"];
        const input = {
          itemID: pick(random, RECEIVED_ITEMS),
          units: 5,
          wid: pick(random, world.form.scope),
          reasonCode: 1,
          remark,
        };
        const error = await inventory.receive(input).catch((thrown: unknown) => thrown);
        if (!(error instanceof OutcomeUnknownError)) throw error;
        const found = await inventory.findReceipt(error, { settleMs: 0 }).catch((thrown: unknown) => {
          if (isOrderly) throw thrown;
        });
        const { outcome = "error" } = found ?? {};
        const wrong = isApplied ? "not-applied" : "applied";
        expect(outcome, `seed ${seed}, receipt ${number}`).not.toBe(wrong);
        const key = `${isOrderly ? "orderly" : "any"} ${outcome}`;
        outcomes[key] = (outcomes[key] ?? 0) + 1;
      }
    });
    expect(outcomes["orderly ambiguous"] ?? 0).toBe(0);
    expect(outcomes["any not-applied"]).toBeGreaterThan(0);
  },
  LIMIT_MS,
);

it(
  "an outbox books no receipt twice, and on an orderly service leaves none to a person",
  async () => {
    let unknown = 0;
    await inWorlds(worlds(1_000), async (seed) => {
      const random = createRandom(50_000 + seed);
      const isOrderly = seed % 4 === 0;
      const world = randomWorld(random, { isOrderly, lots: pick(random, [0, 5, 60, 300, 1_200, 2_500]) });
      const outbox = createOutbox({
        client: world.client({ timeoutMs: 400 }),
        store: sqliteOutboxStore({ path: file(`${seed}.db`) }),
        settleMs: 400,
        leaseMs: 20_000,
        mark: random() < 0.8 ? "remark" : false,
      });
      const keys = Array.from({ length: 1 + Math.floor(random() * 6) }, (_, number) => `k${number}`);
      for (const key of keys) {
        const input = {
          itemID: pick(random, RECEIVED_ITEMS),
          units: 5,
          wid: pick(random, world.form.scope),
          reasonCode: 1,
          remark: `${key} of ${seed}`,
        };
        await outbox.add({ key, operation: "receive", input });
      }
      world.fate = keys.map(() => pick(random, ["lost", "applied and lost", "answered"] as const));
      await outbox.run().catch(() => {});
      await outbox.run().catch(() => {});
      for (const key of keys) {
        const entry = await outbox.get(key);
        const { remark } = entry?.input as { remark: string };
        const times = world.booked.get(remark) ?? 0;
        expect(times, `seed ${seed}, ${key}`).toBeLessThanOrEqual(1);
        if (entry?.state === "applied") expect(times, `seed ${seed}, ${key} is applied`).toBe(1);
        if (isOrderly && remark.startsWith("[sl:") && entry?.state !== "applied") unknown += 1;
      }
      await outbox.close();
    });
    expect(unknown).toBe(0);
  },
  LIMIT_MS,
);
