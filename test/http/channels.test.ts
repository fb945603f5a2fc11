import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import type { InventoryClient } from "../../src/index.js";
import { endsOf, type Heard, hear, listen, sandboxClient } from "../support/observed.js";

/** Each call that was told of, as the types of its messages in order. */
function callsOf(heard: readonly Heard[]): Map<number, string[]> {
  const calls = new Map<number, string[]>();
  for (const { message } of heard) {
    if (message.type !== "token") calls.set(message.call, [...(calls.get(message.call) ?? []), message.type]);
  }
  return calls;
}

/** Holds what was heard against the promise: each call has one start, then what it did, then one end. */
function expectWhole(heard: readonly Heard[], calls: number): void {
  const told = [...callsOf(heard).values()];
  expect(told).toHaveLength(calls);
  for (const types of told) {
    expect([types[0], types.at(-1)]).toEqual(["start", "end"]);
    expect(types.filter((type) => type === "start" || type === "end")).toHaveLength(2);
  }
}

const lookUps = (client: InventoryClient, count: number) =>
  Promise.allSettled(Array.from({ length: count }, (_, number) => client.items.get(`NONE-${number}`)));

const namesOf = (heard: readonly Heard[]) => [...new Set(endsOf(heard).map(({ error }) => error))].sort();

/** So few slots that nearly all calls have to wait in the queue. */
const SCARCE = { rateLimit: { requests: 5, reserved: 0 } };

it("a thousand calls that fail, pause and retry side by side are told whole, also to one who comes and goes", async () => {
  const { sandbox, client } = sandboxClient({ rateLimit: false }, { rateLimit: false });
  sandbox.addFault({ path: "/Item", probability: 0.2, fault: 503 });
  sandbox.addFault({ path: "/Item", probability: 0.02, fault: 429 });
  sandbox.addFault({ path: "/Item", probability: 0.05, fault: "drop" });
  const heard = listen();
  const fleeting = () => {};
  const restless = setInterval(() => {
    subscribe("stocklot:request", fleeting);
    unsubscribe("stocklot:request", fleeting);
  }, 0);
  onTestFinished(() => clearInterval(restless));
  await lookUps(client, 1_000);
  expectWhole(heard, 1_001);
  expect(callsOf(heard).size).toBeLessThan(heard.length / 4);
});

it("calls of a client that closes end once each, and before close() has ended", async () => {
  const { client } = sandboxClient(SCARCE);
  const heard = listen();
  const all = lookUps(client, 200);
  await sleep(20);
  await client.close();
  expectWhole(heard, 201);
  expect(namesOf(heard)).toEqual(["ClientClosedError", "NotFoundError", undefined]);
  await all;
  await lookUps(client, 1);
  expectWhole(heard, 202);
});

it("calls whose time is up, or whose token is refused, end once each", async () => {
  const heard = listen();
  const late = sandboxClient({ ...SCARCE, totalTimeoutMs: 50 });
  await lookUps(late.client, 50);
  expectWhole(heard, 51);
  expect(namesOf(heard)).toContain("TimeoutError");
  const refused = sandboxClient({ clientSecret: "no-such-secret" });
  await lookUps(refused.client, 50);
  expectWhole(heard, 102);
  expect(namesOf(heard)).toContain("AuthenticationError");
});

it("pages that were read ahead and not wanted end once each", async () => {
  const { client } = sandboxClient();
  const heard = listen();
  for await (const _lot of client.inventory.listLots({ pageSize: 1 }, { concurrency: 4, gapless: true })) break;
  await vi.waitFor(() => expect(endsOf(heard)).toHaveLength(callsOf(heard).size));
  expectWhole(heard, callsOf(heard).size);
});

it.each([
  ["an error", new RangeError("enough"), "RangeError"],
  ["a text", "enough", "string"],
  ["null", null, "object"],
])("a call that was aborted with %s ends with a name", async (_what, reason, name) => {
  const { client } = sandboxClient();
  const heard = listen();
  await expect(client.items.get("X", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(endsOf(heard)).toMatchObject([{ attempts: 0, error: name }]);
});

it("the calls of two copies of the package in one process have different numbers", async () => {
  const heard = listen();
  for (let copy = 1; copy <= 2; copy += 1) {
    vi.resetModules();
    const { sandboxClient } = await import("../support/observed.js");
    await lookUps(sandboxClient().client, 3);
  }
  expectWhole(heard, 8);
});

it("a subscriber that throws is an uncaught exception, as Node.js has it, and changes no call", async () => {
  const uncaught: unknown[] = [];
  const others = process.rawListeners("uncaughtException");
  process.removeAllListeners("uncaughtException").on("uncaughtException", (error) => uncaught.push(error));
  onTestFinished(() => {
    process.removeAllListeners("uncaughtException");
    for (const listener of others) process.on("uncaughtException", (...event) => listener(...event));
  });
  const wrong = new Error("a wrong subscriber");
  hear("stocklot:request", () => {
    throw wrong;
  });
  const heard = listen();
  const { client } = sandboxClient();
  expect(await client.items.list().page()).toMatchObject({ totalCount: 3 });
  expectWhole(heard, 2);
  await vi.waitFor(() => expect(uncaught).toEqual(Array.from({ length: 8 }, () => wrong)));
});
