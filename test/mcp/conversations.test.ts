import { setTimeout as sleep } from "node:timers/promises";
import type { OutboxEntry } from "stocklot/outbox";
import { expect, it } from "vitest";
import { type Random, seededRandom } from "../support/random.js";
import { worlds } from "../support/runs.js";
import { type Assistant, assistant, type Outcome, type Person, REVISIONS } from "./support/assistant.js";
import { usePlaces } from "./support/places.js";

const { databases, newPlace } = await usePlaces();

const CONVERSATIONS = worlds(200);
const CALLS = 14;
/** The number of transactions. Each has another power of three as its units, so that the stock shows which were applied. */
const TRANSACTIONS = 5;
const ITEM = "BOLT-M8";

/** Returns the write with a number: a receipt if the number is even, otherwise an issue. */
const bookingOf = (number: number, key: string) => ({
  key,
  operation: number % 2 === 0 ? "receive" : "issue",
  input: { itemID: ITEM, units: 3 ** number, wid: 1, reasonCode: 1 },
});

const PATHS = ["/Inventory/Receive", "/Inventory/Issue", "/Inventory/*", "/Item*", "*"];
const FAULTS = ["drop", "drop-after", "hang", "hang-after", "truncated", 500, 503, 400, 404] as const;

function addFault({ sandbox }: Assistant, random: Random): void {
  const path = PATHS[random(PATHS.length)] ?? "*";
  sandbox.addFault({ path, skip: random(2), times: 1 + random(2), fault: FAULTS[random(FAULTS.length)] ?? 500 });
}

/** A person who mostly agrees, sometimes declines or cancels, and sometimes answers late. */
const personOf =
  (random: Random): Person =>
  async () => {
    const mood = random(10);
    if (mood === 0) return { action: "decline" };
    if (mood === 1) return { action: "cancel" };
    if (mood === 2) await sleep(random(30));
    return { action: "accept", content: {} };
  };

/** Makes a call, which may be cancelled at any moment. Returns what it reported, or `undefined` if it was cancelled. */
async function callOnce({ tools }: Assistant, random: Random): Promise<{ key: string; outcome: Outcome } | undefined> {
  const number = random(TRANSACTIONS);
  const key = `t${number}${random(5) === 0 ? "-again" : ""}`;
  const cancel = new AbortController();
  const timer = random(4) === 0 ? setTimeout(() => cancel.abort(), random(60)) : undefined;
  try {
    return { key, outcome: await tools("book", bookingOf(number, key), { signal: cancel.signal }) };
  } catch (error) {
    if (cancel.signal.aborted) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function stockOf({ sandbox, client }: Assistant): Promise<number> {
  sandbox.clearFaults();
  const level = await client.inventory.getStockLevel(ITEM, { wid: 1 });
  return level?.inStock ?? 0;
}

it.each(
  Array.from({ length: CONVERSATIONS }, (_, index) => index + 1),
)("conversation %i: what was reported agrees with the service's record", async (seed) => {
  const random = seededRandom(seed);
  const outbox = await newPlace(databases[(seed >> 1) % databases.length]);
  const setting = { outbox, person: personOf(random), revision: REVISIONS[seed % 2] ?? REVISIONS[0], settleMs: 150 };
  const one = await assistant(setting);
  const two = await assistant({ ...setting, sandbox: one.sandbox });
  const before = await stockOf(one);
  const reported: { key: string; outcome: Outcome }[] = [];
  for (let call = 0; call < CALLS; call += 2) {
    if (random(2) === 0) addFault(one, random);
    const results = await Promise.all([callOnce(one, random), callOnce(random(2) === 0 ? one : two, random)]);
    for (const result of results) if (result) reported.push(result);
  }
  one.sandbox.clearFaults();
  // Cancelled calls may still be running. The servers send and look up what is left.
  await expect
    .poll(async () => ((await one.outbox?.summary())?.sending ?? 0) + ((await one.outbox?.summary())?.pending ?? 0), {
      timeout: 20_000,
    })
    .toBe(0);
  const entries: OutboxEntry[] = [];
  for await (const entry of one.outbox?.entries() ?? []) entries.push(entry);
  const effectOf = (key: string) => {
    const number = Number(key.charAt(1));
    return number % 2 === 0 ? 3 ** number : -(3 ** number);
  };
  // Any subset of the unknown writes may have been applied.
  const unknown = entries.filter(({ state }) => state === "unknown").map(({ key }) => effectOf(key));
  const certain = entries.filter(({ state }) => state === "applied").reduce((sum, { key }) => sum + effectOf(key), 0);
  const possible = unknown.reduce((sums, effect) => sums.flatMap((sum) => [sum, sum + effect]), [certain]);
  expect(possible).toContain((await stockOf(one)) - before);
  // No transaction is booked under both of its keys, because the person never confirms that it should be booked again.
  for (let number = 0; number < TRANSACTIONS; number += 1) {
    const booked = entries.filter(
      ({ key, state }) => key.startsWith(`t${number}`) && state !== "canceled" && state !== "rejected",
    );
    expect(booked.length).toBeLessThanOrEqual(1);
  }
  const stateOf = (key: string) => entries.find((entry) => entry.key === key)?.state;
  for (const { key, outcome } of reported) {
    const state = outcome.value.entry?.state;
    if (outcome.isError && outcome.text.includes("Applied: no.") && stateOf(key) === undefined) continue;
    if (outcome.value.outcome !== "added") continue;
    if (state === "applied" || state === "rejected" || state === "canceled") expect(stateOf(key)).toBe(state);
  }
}, 60_000);
