import { expect, it, vi } from "vitest";
import { createSandbox } from "../../src/sandbox/index.js";
import { accepts, assistant } from "./support/assistant.js";
import { usePlaces } from "./support/places.js";

const { newPlace } = await usePlaces();

const INPUT = { itemID: "BOLT-M8", units: 5, wid: 1, reasonCode: 1, remark: "from the truck" };
const BOOKING = { key: "asn-1", operation: "receive", input: INPUT };

const ends: readonly [string, (one: Awaited<ReturnType<typeof assistant>>) => unknown][] = [
  ["the input ends", ({ toServer }) => toServer.end()],
  ["the input breaks", ({ toServer }) => toServer.destroy()],
  ["a message is longer than 10 MiB", ({ toServer }) => toServer.write("x".repeat(11_000_000))],
  ["the output breaks", ({ toClient }) => toClient.destroy(new Error("write EPIPE"))],
];

it.each(ends)("the server ends when %s", async (_, end) => {
  const one = await assistant({ outbox: await newPlace() });
  end(one);
  await one.served;
});

it.each(ends)("a question is open when %s: the server ends, and nothing is booked", async (_, end) => {
  let isAsked = () => {};
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  const person = () => {
    isAsked();
    return new Promise<never>(() => {});
  };
  const one = await assistant({ outbox: await newPlace(), person });
  one.tools("book", BOOKING).catch(() => {});
  await asked;
  end(one);
  await one.served;
  expect(await one.outbox?.get("asn-1")).toBeUndefined();
  expect(one.sandbox.requests.filter(({ path }) => path === "/Inventory/Receive")).toEqual([]);
});

it.each(ends)("a write is sent when %s: the server ends, and the next one knows what became of it", async (_, end) => {
  const sandbox = createSandbox({
    rateLimit: false,
    faults: [{ path: "/Inventory/Receive", times: 1, fault: "hang-after" }],
  });
  const outbox = await newPlace();
  const one = await assistant({ sandbox, outbox, person: accepts });
  one.tools("book", BOOKING).catch(() => {});
  const receipts = () => sandbox.requests.filter(({ path }) => path === "/Inventory/Receive");
  await vi.waitFor(() => expect(receipts()).toHaveLength(1), 10_000);
  end(one);
  await one.served;
  await one.outbox?.close();
  const next = await assistant({ sandbox, outbox, person: accepts });
  const state = async () => (await next.tools("book", BOOKING)).value.entry?.state;
  await vi.waitFor(async () => expect(await state()).toBe("applied"), 10_000);
  expect(receipts()).toHaveLength(1);
});

it("what is no message is reported, and the next one is answered", async () => {
  const one = await assistant({ outbox: await newPlace(), person: accepts });
  const message = (fields: object) => JSON.stringify({ jsonrpc: "2.0", ...fields });
  const lines = [
    ...["{", "[]", "null", "5", "\u0000", "[".repeat(100_000), message({}), message({ id: {}, method: "tools/call" })],
    message({ id: 900, result: {} }),
    message({ id: 901, method: "tools/call", params: { name: "__proto__", arguments: {} } }),
    message({ id: 902, method: "tools/call", params: { name: "get_stock", arguments: null } }),
    message({ method: "notifications/cancelled", params: { requestId: "none" } }),
  ];
  for (const line of lines) one.toServer.write(`${line}\n`);
  expect((await one.tools("get_stock", { skus: ["BOLT-M8"] })).value).toMatchObject({ source: "service" });
  expect(one.errors.length).toBeGreaterThan(0);
});

it("two questions at once are answered in any order, each for its own write", async () => {
  const answers: ((action: "accept" | "decline") => void)[] = [];
  const person = () =>
    new Promise<Awaited<ReturnType<typeof accepts>>>((resolve) => {
      answers.push((action) => resolve({ action, content: {} }));
    });
  const one = await assistant({ outbox: await newPlace(), person });
  const first = one.tools("book", BOOKING);
  await vi.waitFor(() => expect(answers).toHaveLength(1));
  const second = one.tools("book", { ...BOOKING, key: "asn-2", input: { ...INPUT, units: 6 } });
  await vi.waitFor(() => expect(answers).toHaveLength(2));
  answers[1]?.("accept");
  expect((await second).value).toMatchObject({ outcome: "added", entry: { key: "asn-2", input: { units: 6 } } });
  answers[0]?.("decline");
  expect((await first).value).toMatchObject({ outcome: "refused", entry: { key: "asn-1" } });
  expect(one.sandbox.requests.filter(({ path }) => path === "/Inventory/Receive")).toHaveLength(1);
});

it("an answer to a call that was cancelled, and a second answer, count for nothing", async () => {
  const answers: (() => void)[] = [];
  const person = () =>
    new Promise<Awaited<ReturnType<typeof accepts>>>((resolve) => {
      answers.push(() => resolve({ action: "accept", content: {} }));
    });
  const one = await assistant({ outbox: await newPlace(), person });
  const ids: unknown[] = [];
  one.toClient.on("data", (chunk) => {
    for (const line of String(chunk).trim().split("\n")) {
      const { id, method } = JSON.parse(line);
      if (method === "elicitation/create") ids.push(id);
    }
  });
  const answerAgain = (id: unknown, action: string) =>
    one.toServer.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: { action, content: {} } })}\n`);
  const cancel = new AbortController();
  const cancelled = one.tools("book", BOOKING, { signal: cancel.signal });
  await vi.waitFor(() => expect(answers).toHaveLength(1));
  cancel.abort();
  await expect(cancelled).rejects.toThrow();
  const other = { ...BOOKING, key: "asn-2", input: { ...INPUT, units: 6 } };
  const call = one.tools("book", other);
  await vi.waitFor(() => expect(answers).toHaveLength(2));
  answers[0]?.();
  answerAgain(ids[0], "accept");
  answerAgain(ids[1], "decline");
  answerAgain(ids[1], "accept");
  answers[1]?.();
  expect((await call).value).toMatchObject({ outcome: "refused" });
  expect((await one.tools("book", other)).value).toMatchObject({ outcome: "refused" });
  expect(await one.outbox?.get("asn-1")).toBeUndefined();
  expect(one.sandbox.requests.filter(({ path }) => path === "/Inventory/Receive")).toEqual([]);
});
