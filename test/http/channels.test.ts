import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect, it, onTestFinished, vi } from "vitest";
import type { InventoryClient } from "../../src/index.js";
import {
  endMessages,
  type ReceivedMessage,
  recordMessages,
  sandboxClient,
  subscribeInTest,
} from "../support/channels.js";
import { waitUntil } from "../support/with-server.js";

/** Each reported call, as the types of its messages in order. */
function callsOf(messages: readonly ReceivedMessage[]): Map<number, string[]> {
  const calls = new Map<number, string[]>();
  for (const { message } of messages) {
    if (message.type !== "token") calls.set(message.call, [...(calls.get(message.call) ?? []), message.type]);
  }
  return calls;
}

/** Checks that each call has one start, then its events, then one end. */
function expectComplete(messages: readonly ReceivedMessage[], calls: number): void {
  const reported = [...callsOf(messages).values()];
  expect(reported).toHaveLength(calls);
  for (const types of reported) {
    expect([types[0], types.at(-1)]).toEqual(["start", "end"]);
    expect(types.filter((type) => type === "start" || type === "end")).toHaveLength(2);
  }
}

const lookUps = (client: InventoryClient, count: number) =>
  Promise.allSettled(Array.from({ length: count }, (_, number) => client.items.get(`NONE-${number}`)));

const namesOf = (messages: readonly ReceivedMessage[]) =>
  [...new Set(endMessages(messages).map(({ error }) => error))].sort();

/** Few slots, so that nearly all calls wait in the queue. */
const FEW_SLOTS = { rateLimit: { requests: 5, reserved: 0 } };

it("a thousand concurrent calls that fail, pause and retry are reported completely, also to a temporary subscriber", async () => {
  const { sandbox, client } = sandboxClient({ rateLimit: false }, { rateLimit: false });
  sandbox.addFault({ path: "/Item", probability: 0.2, fault: 503 });
  sandbox.addFault({ path: "/Item", probability: 0.02, fault: 429 });
  sandbox.addFault({ path: "/Item", probability: 0.05, fault: "drop" });
  const messages = recordMessages();
  const fleeting = () => {};
  const restless = setInterval(() => {
    subscribe("stocklot:request", fleeting);
    unsubscribe("stocklot:request", fleeting);
  }, 0);
  onTestFinished(() => clearInterval(restless));
  await lookUps(client, 1_000);
  expectComplete(messages, 1_001);
  expect(callsOf(messages).size).toBeLessThan(messages.length / 4);
});

it("calls of a client that closes end once each, and before close() has ended", async () => {
  const { client } = sandboxClient(FEW_SLOTS);
  const messages = recordMessages();
  const all = lookUps(client, 200);
  await waitUntil(() => namesOf(messages).includes("NotFoundError"));
  await client.close();
  expectComplete(messages, 201);
  expect(namesOf(messages)).toEqual(["ClientClosedError", "NotFoundError", undefined]);
  await all;
  await lookUps(client, 1);
  expectComplete(messages, 202);
});

it("calls that time out, or whose token is refused, end once each", async () => {
  const messages = recordMessages();
  const late = sandboxClient({ ...FEW_SLOTS, totalTimeoutMs: 50 });
  await lookUps(late.client, 50);
  expectComplete(messages, 51);
  expect(namesOf(messages)).toContain("TimeoutError");
  const refused = sandboxClient({ clientSecret: "no-such-secret" });
  await lookUps(refused.client, 50);
  expectComplete(messages, 102);
  expect(namesOf(messages)).toContain("AuthenticationError");
});

it("pages that were read ahead and not used end once each", async () => {
  const { client } = sandboxClient();
  const messages = recordMessages();
  for await (const _lot of client.inventory.listLots({ pageSize: 1 }, { readAhead: 4, gapless: true })) break;
  await waitUntil(() => endMessages(messages).length === callsOf(messages).size);
  expectComplete(messages, callsOf(messages).size);
});

it.each([
  ["an error", new RangeError("enough"), "RangeError"],
  ["a string", "enough", "string"],
  ["null", null, "object"],
])("a call that was aborted with %s ends with a name", async (_what, reason, name) => {
  const { client } = sandboxClient();
  const messages = recordMessages();
  await expect(client.items.get("X", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(endMessages(messages)).toMatchObject([{ attempts: 0, error: name }]);
});

it("the calls of two copies of the package in one process have different numbers", async () => {
  const messages = recordMessages();
  for (let copy = 1; copy <= 2; copy += 1) {
    vi.resetModules();
    const { sandboxClient } = await import("../support/channels.js");
    await lookUps(sandboxClient().client, 3);
  }
  expectComplete(messages, 8);
});

it("a subscriber that throws is an uncaught exception, as Node.js defines it, and changes no call", async () => {
  const uncaught: unknown[] = [];
  const others = process.rawListeners("uncaughtException");
  process.removeAllListeners("uncaughtException").on("uncaughtException", (error) => uncaught.push(error));
  onTestFinished(() => {
    process.removeAllListeners("uncaughtException");
    for (const listener of others) process.on("uncaughtException", (...event) => listener(...event));
  });
  const wrong = new Error("a wrong subscriber");
  subscribeInTest("stocklot:request", () => {
    throw wrong;
  });
  const messages = recordMessages();
  const { client } = sandboxClient();
  expect(await client.items.list().page()).toMatchObject({ totalCount: 3 });
  expectComplete(messages, 2);
  await waitUntil(() => uncaught.length >= 8);
  expect(uncaught).toEqual(Array.from({ length: 8 }, () => wrong));
});
