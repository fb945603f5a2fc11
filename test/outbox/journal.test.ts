import { describe, expect, it, onTestFinished } from "vitest";
import { type AttemptEnd, type AttemptJournal, attemptJournalSymbol } from "../../src/client/send/attempt-journal.js";
import {
  type ClientOptions,
  InventoryClient,
  OutcomeUnknownError,
  type RequestOptions,
  ResponseValidationError,
} from "../../src/index.js";
import { FaultServer, isWrite } from "../support/fault-server.js";
import { dropped, droppedAfterEffect, html, status } from "../support/faults.js";

const RECEIPT = { itemID: "BOLT", units: 1, wid: 3, reasonCode: 1 };

async function setUp(options: ClientOptions = {}, changes: Partial<AttemptJournal> = {}) {
  const server = await FaultServer.start();
  const client = new InventoryClient({
    baseUrl: server.baseUrl,
    clientId: "id",
    clientSecret: "client-secret-1",
    retry: { minDelayMs: 1, maxDelayMs: 2, rateLimitDelayMs: [10, 20] },
    ...options,
  });
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  const writes = () => server.requests.filter(isWrite).length;
  const events: string[] = [];
  const ends: Omit<AttemptEnd, "body">[] = [];
  const journal: AttemptJournal = {
    async beforeSend(clock) {
      await changes.beforeSend?.(clock);
      events.push(`before ${writes()}`);
    },
    assertMaySend() {
      changes.assertMaySend?.();
      events.push("send");
    },
    attemptEnded({ response, mayHaveBeenApplied }) {
      events.push(`${response?.status ?? "no response"}${mayHaveBeenApplied ? ", maybe applied" : ""}`);
      ends.push({ response, mayHaveBeenApplied });
    },
    async beforeRetry() {
      await changes.beforeRetry?.();
      events.push("retry");
    },
  };
  const receive = (requestOptions: RequestOptions = {}) =>
    client.inventory.receive(RECEIPT, { ...requestOptions, [attemptJournalSymbol]: journal });
  const update = () => client.items.update("BOLT", { description: "x" }, { [attemptJournalSymbol]: journal });
  return { server, client, events, writes, receive, update };
}

describe.each<[string, ClientOptions]>([
  ["undici", {}],
  ["fetch", { fetch: globalThis.fetch }],
])("a journal, with %s", (_, transport) => {
  it("is written before each attempt", async () => {
    const { events, receive } = await setUp(transport);
    await receive();
    expect(events).toEqual(["before 0", "send", "201"]);
  });

  it("records a success status with a login page as no response: it proves nothing", async () => {
    const { server, events, receive, update } = await setUp(transport);
    server.plan(html(), { on: isWrite, times: 2 });
    await expect(receive()).rejects.toBeInstanceOf(OutcomeUnknownError);
    await expect(update()).rejects.toBeInstanceOf(ResponseValidationError);
    expect(events).toEqual([
      ...["before 0", "send", "no response, maybe applied"],
      ...["before 1", "send", "no response, maybe applied"],
    ]);
  });

  it("records a retry after 429 and 401", async () => {
    const { server, events, receive } = await setUp(transport);
    server.plan(status(429), { on: isWrite }).plan(status(401), { on: isWrite });
    await receive();
    expect(events).toEqual([
      ...["before 0", "send", "429", "retry"],
      ...["before 1", "send", "401", "retry"],
      ...["before 2", "send", "201"],
    ]);
  });

  it("learns that an attempt may have been applied", async () => {
    const { server, events, receive, update } = await setUp(transport);
    server.plan(droppedAfterEffect(), { on: isWrite });
    await expect(receive()).rejects.toMatchObject({ name: "OutcomeUnknownError" });
    expect(events.splice(0)).toEqual(["before 0", "send", "no response, maybe applied"]);
    server.plan(dropped(), { on: isWrite }).plan(status(503), { on: isWrite });
    await update();
    expect(events).toEqual([
      ...["before 1", "send", "no response, maybe applied", "retry"],
      ...["before 2", "send", "503, maybe applied", "retry"],
      ...["before 3", "send", "200"],
    ]);
  });

  it("that cannot be written fails the call, with nothing sent and the slot returned", async () => {
    const problem = new Error("disk full");
    const beforeSend = () => Promise.reject(problem);
    const { client, writes, receive } = await setUp(transport, { beforeSend });
    await expect(receive()).rejects.toBe(problem);
    expect(writes()).toBe(0);
    expect(client.rateLimit).toMatchObject({ available: 99, inFlight: 0 });
  });

  it("can prevent an attempt at the last moment", async () => {
    const problem = new Error("too late");
    const assertMaySend = () => {
      throw problem;
    };
    const { client, writes, events, receive } = await setUp(transport, { assertMaySend });
    await expect(receive()).rejects.toBe(problem);
    expect(events).toEqual(["before 0", "no response"]);
    expect(writes()).toBe(0);
    expect(client.rateLimit).toMatchObject({ available: 99, inFlight: 0 });
  });

  it("that cannot be written before a retry prevents it", async () => {
    const problem = new Error("disk full");
    const { server, writes, receive } = await setUp(transport, { beforeRetry: () => Promise.reject(problem) });
    server.plan(status(429), { on: isWrite });
    await expect(receive()).rejects.toBe(problem);
    expect(writes()).toBe(1);
  });

  it("does not delay an abort or a time limit", async () => {
    const beforeSend = () => new Promise<void>(() => {});
    const { client, writes, receive } = await setUp(transport, { beforeSend });
    const controller = new AbortController();
    setTimeout(() => controller.abort("stop"), 100);
    await expect(receive({ signal: controller.signal })).rejects.toBe("stop");
    await expect(receive({ totalTimeoutMs: 100 })).rejects.toMatchObject({ name: "TimeoutError" });
    expect(writes()).toBe(0);
    expect(client.rateLimit).toMatchObject({ available: 99, inFlight: 0 });
  });

  it.each([0, 3_600_000, -3_600_000])("learns that the clock of the service is %d ms ahead", async (aheadMs) => {
    const clocks: unknown[] = [];
    const beforeSend: AttemptJournal["beforeSend"] = async (clock) => void clocks.push(clock);
    const { server, receive } = await setUp(transport, { beforeSend });
    server.clockOffsetMs = aheadMs;
    await receive();
    await receive();
    expect(clocks).toHaveLength(2);
    for (const clock of clocks) {
      expect(clock).toBeLessThanOrEqual(aheadMs);
      expect(clock).toBeGreaterThan(aheadMs - 5_000);
    }
  });
});

it("a call that waits for a slot has not begun", async () => {
  const { client, events, receive } = await setUp({ rateLimit: { requests: 2, intervalMs: 600, reserved: 0 } });
  await receive();
  const waiting = receive();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(client.rateLimit).toMatchObject({ queued: 1 });
  expect(events).toHaveLength(3);
  await waiting;
  expect(events).toHaveLength(6);
});
