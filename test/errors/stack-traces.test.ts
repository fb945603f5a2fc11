import { beforeEach, expect, it } from "vitest";
import { InputValidationError, type InventoryClient, StocklotError } from "../../src/index.js";
import { type FaultServer, isToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { useLoopTime } from "../support/loop-time.js";
import { connect, RECEIPT, sleep, startServer } from "../support/with-server.js";

beforeEach(useLoopTime);

const always = Number.POSITIVE_INFINITY;

type Way = (client: InventoryClient) => Promise<unknown>;

/** All ways to read a list. Each is a named function, which the stack trace must contain. */
const readings = (params = {}): Record<string, Way> => ({
  "records of a list": async function readsRecords({ inventory }) {
    for await (const _lot of inventory.listLots(params)) sleep(0);
  },
  "pages of a list": async function readsPages({ inventory }) {
    for await (const _page of inventory.listLots(params).pages()) sleep(0);
  },
  "one page": async function readsOnePage({ inventory }) {
    return await inventory.listLots(params).page();
  },
  "an array": async function readsArray({ inventory }) {
    return await inventory.listLots(params).toArray();
  },
});

/** All ways to call the service. */
const WAYS: Record<string, Way> = {
  get: async function callsGet(client) {
    return await client.items.get("BOLT");
  },
  receive: async function callsReceive(client) {
    return await client.inventory.receive(RECEIPT);
  },
  request: async function callsRequest(client) {
    return await client.request({ method: "GET", path: "/Item" });
  },
  ...readings(),
};

const FAILURES: Record<string, (server: FaultServer) => void> = {
  "refused credentials": (server) => server.plan(faults.status(401), { on: isToken, times: always }),
  "a token endpoint that is down": (server) => server.plan(faults.dropped(), { on: isToken, times: always }),
  "a token response that is not JSON": (server) => server.plan(faults.html(), { on: isToken, times: always }),
  "403": (server) => server.plan(faults.status(403), { times: always }),
  "a lost connection": (server) => server.plan(faults.dropped(), { times: always }),
  "a response that is cut short": (server) => server.plan(faults.truncated(), { times: always }),
  "a timeout": (server) => server.plan(faults.hang({ applies: false }), { times: always }),
};

const rejection = async (promise: Promise<unknown>): Promise<StocklotError> => {
  try {
    await promise;
  } catch (error) {
    if (error instanceof StocklotError) return error;
    throw error;
  }
  return expect.fail("no failure");
};

const client = (server: FaultServer) => connect(server, { retry: false, timeoutMs: 200, rateLimit: false });

/** Every combination of a way to call and a failure. */
const PAIRS = [
  ...Object.keys(WAYS).map((way) => [way, "403"] as const),
  ...Object.keys(FAILURES).map((failure) => ["get", failure] as const),
];

it.each(PAIRS)("the stack trace of an error contains the caller's line: %s, %s", async (name, failure) => {
  const server = await startServer();
  FAILURES[failure]?.(server);
  const way = WAYS[name] ?? expect.fail(name);
  const error = await rejection(way(client(server)));
  expect(error.stack).toContain(error.message.slice(0, 20));
  expect(error.stack).toMatch(new RegExp(`${way.name}.*stack-traces\\.test`));
  expect(Object.keys(error)).not.toContain("stack");
});

it("calls that fail with one token request reject with its failure, which shows the first caller's line", async () => {
  async function first(client: InventoryClient) {
    return await client.items.get("BOLT");
  }
  async function second(client: InventoryClient) {
    return await client.inventory.listLots().toArray();
  }
  for (const plan of ["refused credentials", "a token endpoint that is down", "a token response that is not JSON"]) {
    const server = await startServer();
    FAILURES[plan]?.(server);
    const caller = client(server);
    const calls = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? first : second));
    const errors = await Promise.all(calls.map((call) => rejection(call(caller))));
    expect(new Set(errors.map(({ message }) => message)).size).toBe(1);
    expect(errors[0]?.stack).toContain("first (");
    expect(server.tokenRequests).toBe(1);
  }
});

it("a page that failed while the page before it was in use is reported with the line that asked for it", async () => {
  const server = await startServer();
  for (let number = 0; number < 600; number += 1) server.service.addLot({});
  async function consumes(client: InventoryClient) {
    for await (const { page } of client.inventory.listLots().pages()) {
      if (page === 1) server.plan(faults.status(403), { times: always });
      await sleep(50);
    }
  }
  const error = await rejection(consumes(client(server)));
  expect(error.name).toBe("PermissionError");
  expect(error.stack).toContain("consumes (");
});

it("invalid arguments are reported with the line that uses the list", async () => {
  const server = await startServer();
  for (const use of Object.values(readings({ page: 0 }))) {
    const error = await rejection(use(client(server)));
    expect(error).toBeInstanceOf(InputValidationError);
    expect(error.stack).toContain(`${use.name} (`);
  }
});
