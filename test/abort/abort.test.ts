import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ClientOptions, type InventoryClient, OutcomeUnknownError } from "../../src/index.js";
import { listenRaw } from "../connection/server.js";
import { type FaultServer, isToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { useLoopTime } from "../support/loop-time.js";
import { runs } from "../support/runs.js";
import {
  connect,
  errorOf,
  QUICK,
  RECEIPT,
  sleep,
  startServer,
  storedToken,
  waitUntil,
} from "../support/with-server.js";
import { WRITES, type WriteCall } from "../support/writes.js";

/** The most time from an abort to the end of its call, in ms of loop time, which does not get longer on a busy machine. */
const PROMPT_MS = 100;

const unhandled: unknown[] = [];
const recordUnhandled = (reason: unknown) => unhandled.push(reason);
beforeEach(() => {
  process.on("unhandledRejection", recordUnhandled);
  useLoopTime();
});
afterEach(async () => {
  await sleep(5);
  process.off("unhandledRejection", recordUnhandled);
  expect(unhandled.splice(0)).toEqual([]);
});

class AbortReason extends Error {}

interface Phase {
  name: string;
  options?: ClientOptions;
  /** Prepares server and client so that the call waits in this phase. Returns a function that reports whether it does. */
  prepare(server: FaultServer, client: InventoryClient): Promise<() => boolean> | (() => boolean);
  /** Whether a write that is aborted in this phase may have been applied. */
  sent: boolean;
}

const countOtherRequests = (server: FaultServer) => server.requests.filter((request) => !isToken(request)).length;

/** Fills the only slot with a call that never ends. */
async function blockSlot(server: FaultServer, client: InventoryClient): Promise<AbortController> {
  const blocker = new AbortController();
  server.plan(faults.hang({ applies: false }));
  const before = countOtherRequests(server);
  client.items.get("BLOCKER", { signal: blocker.signal }).catch(() => {});
  await waitUntil(() => countOtherRequests(server) > before);
  return blocker;
}

const PHASES: readonly Phase[] = [
  {
    name: "waits for a token",
    prepare: (server) => {
      server.service.revokeTokens();
      server.plan(faults.hang({ applies: false }), { on: isToken });
      server.plan(faults.status(401));
      return () => server.tokenRequests > 1;
    },
    sent: false,
  },
  {
    name: "is queued",
    options: { rateLimit: { maxConcurrent: 1 } },
    prepare: async (server, client) => {
      await blockSlot(server, client);
      return () => client.rateLimit.queued === 1;
    },
    sent: false,
  },
  {
    name: "is paused after a 429",
    prepare: (server, client) => {
      server.plan(faults.rateLimited());
      return () => client.rateLimit.pausedUntil !== null && client.rateLimit.queued === 1;
    },
    sent: false,
  },
  {
    name: "is sending (no response yet)",
    prepare: (server) => {
      server.plan(faults.hang({ applies: true }));
      const before = countOtherRequests(server);
      return () => countOtherRequests(server) > before;
    },
    sent: true,
  },
  {
    name: "is reading (the head has arrived)",
    prepare: (server) => {
      server.plan(faults.slowBody(5_000));
      const before = countOtherRequests(server);
      return () => countOtherRequests(server) > before;
    },
    sent: true,
  },
];

type OneCall = Pick<WriteCall, "call"> & Partial<WriteCall>;
const READ: OneCall = { call: (client, options) => client.items.get("BOLT", options) };

/** Aborts a call that waits, and returns how it ended. */
async function abort(client: InventoryClient, { call }: OneCall, isWaiting: () => boolean) {
  const controller = new AbortController();
  const reason = new AbortReason("no longer wanted");
  const rejection = errorOf(call(client, { signal: controller.signal }));
  await waitUntil(isWaiting);
  await sleep(20);
  const abortedAt = performance.now();
  controller.abort(reason);
  const error = await rejection;
  expect(performance.now() - abortedAt).toBeLessThan(PROMPT_MS);
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  return { error, reason };
}

it.each(
  PHASES,
)("a call that $name ends at once when it is aborted, and reports whether it may have been applied", async (phase) => {
  const play = async (one: OneCall) => {
    const server = await startServer();
    const client = connect(server, { retry: { minDelayMs: 1, maxDelayMs: 4 }, ...phase.options });
    await client.items.get("BOLT");
    const { error, reason } = await abort(client, one, await phase.prepare(server, client));
    if (!one.name || !phase.sent) {
      expect(error).toBe(reason);
      if (one.name) expect(server.effects(one.name)).toBe(0);
      return;
    }
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ cause: reason, request: { method: one.method, path: one.path } });
    expect(server.effects(one.name)).toBe(1);
  };
  await Promise.all([READ, ...WRITES].map(play));
});

describe("a call that waits between two attempts", () => {
  const longBackOff: ClientOptions = { retry: { minDelayMs: 600_000, maxDelayMs: 600_000 } };

  it("ends at once when it is aborted, and reports whether it may have been applied", async () => {
    for (const one of [READ, ...WRITES.filter(({ idempotent }) => idempotent)]) {
      const server = await startServer();
      server.plan(faults.status(503, { applies: true }));
      const client = connect(server, longBackOff);
      const { error, reason } = await abort(client, one, () => countOtherRequests(server) === 1);
      if (!one.name) expect(error).toBe(reason);
      else expect(error).toMatchObject({ name: "OutcomeUnknownError", cause: reason });
    }
  });

  it.each(WRITES)("reports that $name was not sent if there was never a connection", async (write) => {
    const server = await startServer();
    const client = connect(server, longBackOff);
    await client.items.get("BOLT");
    await server.refuseConnections();
    const { error, reason } = await abort(client, write, () => true);
    expect(error).toBe(reason);
    expect(server.effects(write.name)).toBe(0);
  });
});

describe("a call that is connecting", () => {
  /** Accepts connections and never responds to a TLS handshake. */
  async function silentServer() {
    const { sockets, port } = await listenRaw(() => {});
    return { baseUrl: `https://127.0.0.1:${port}/api/v1`, sockets };
  }

  it("ends at once when it is aborted, is known not to have been sent, and does not hold up close()", async () => {
    for (const write of WRITES) {
      const server = await silentServer();
      const client = connect(server, { tokenStore: storedToken });
      const { error, reason } = await abort(client, write, () => server.sockets.length > 0);
      expect(error).toBe(reason);
      const closedAt = performance.now();
      await client.close();
      expect(performance.now() - closedAt).toBeLessThan(1_000);
    }
  });

  it("times out as not sent, and is retried", async () => {
    const server = await silentServer();
    const client = connect(server, { tokenStore: storedToken, timeoutMs: 100, retry: { ...QUICK, maxRetries: 1 } });
    const error = await errorOf(client.items.create({ shortID: "NUT" }));
    expect(error).toMatchObject({ name: "TimeoutError", clock: "timeoutMs" });
    expect(server.sockets.length).toBeGreaterThan(0);
  });
});

describe("one signal", () => {
  it("carries one listener for any number of calls at once, and none afterwards", async () => {
    const server = await startServer();
    const client = connect(server, { rateLimit: false });
    const { signal } = new AbortController();
    let most = 0;
    const warnings: string[] = [];
    const note = (warning: Error) => warnings.push(warning.name);
    process.on("warning", note);
    for (let round = 0; round < runs(10); round += 1) {
      const calls = Array.from({ length: 50 }, () => client.items.get("BOLT", { signal }));
      most = Math.max(most, getEventListeners(signal, "abort").length);
      await Promise.all(calls);
      most = Math.max(most, getEventListeners(signal, "abort").length);
    }
    expect(most).toBe(1);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await sleep(5);
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });

  it("that has aborted ends a call before anything is sent", async () => {
    const server = await startServer();
    const client = connect(server);
    const signal = AbortSignal.abort(new AbortReason());
    expect(await errorOf(client.inventory.receive(RECEIPT, { signal }))).toBe(signal.reason);
    expect(server.requests).toEqual([]);
  });

  it("may abort with any reason, also one that is not an Error", async () => {
    const server = await startServer();
    server.plan(faults.hang({ applies: false }), { times: 2 });
    const client = connect(server);
    for (const reason of ["enough", 0, null]) {
      const controller = new AbortController();
      const rejection = errorOf(client.items.get("BOLT", { signal: controller.signal }));
      controller.abort(reason);
      expect(await rejection).toBe(reason);
    }
  });
});

describe("a call that has ended", () => {
  it("leaves no timer behind, however it ended", async () => {
    const server = await startServer();
    const client = connect(server, { retry: QUICK, totalTimeoutMs: 60_000, timeoutMs: 50_000 });
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    await client.items.get("BOLT");
    const before = timers();
    await client.items.get("BOLT");
    await errorOf(client.items.get("NONE"));
    server.plan(faults.dropped(), { times: 9 });
    await errorOf(client.items.get("BOLT"));
    server.clearPlans();
    server.plan(faults.hang({ applies: false }));
    await errorOf(client.items.get("BOLT", { signal: AbortSignal.timeout(30) }));
    await sleep(20);
    expect(timers()).toBeLessThanOrEqual(before);
  });
});

describe("leaving a loop", () => {
  async function bigList() {
    const server = await startServer();
    for (let count = 0; count < 1_000; count += 1) server.service.addLot({});
    return { server, client: connect(server, { retry: QUICK }) };
  }

  it("leaves no request, listener or rejection behind", async () => {
    const { server, client } = await bigList();
    const { signal } = new AbortController();
    server.latencyMs = 15;
    for await (const lot of client.inventory.listLots({ pageSize: 100 }, { signal, readAhead: 4 })) {
      expect(lot.units).toBe(1);
      break;
    }
    const request = server.requests.length;
    await sleep(100);
    expect(server.requests.length - request).toBeLessThanOrEqual(1);
    expect(client.rateLimit).toMatchObject({ inFlight: 0, queued: 0 });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("by its signal rejects with the signal's reason, in the middle of a page that is on its way", async () => {
    const { server, client } = await bigList();
    const controller = new AbortController();
    const loop = async () => {
      for await (const _ of client.inventory.listLots({ pageSize: 100 }, { signal: controller.signal })) {
        server.latencyMs = 60_000;
        setTimeout(() => controller.abort(), 50);
      }
    };
    expect(await errorOf(loop())).toBe(controller.signal.reason);
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });
});
