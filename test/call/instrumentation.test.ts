import { describe, expect, it, onTestFinished } from "vitest";
import { instrument } from "../../src/client/for-add-ons.js";
import type { CallObservation, Instrumentation } from "../../src/client/observe/events.js";
import { isToken } from "../support/fault-server.js";
import * as faults from "../support/faults.js";
import { connect, errorOf, QUICK, RECEIPT, sleep, startServer, TRANSPORTS } from "../support/with-server.js";

/** An observation that does nothing but what a test adds. */
const observation = (given: Partial<CallObservation>): CallObservation => ({
  within: (run) => run(),
  attempt: (_event, _setHeader, run) => void run(),
  waited() {},
  retry() {},
  paused() {},
  ended() {},
  ...given,
});

function install(given: Partial<CallObservation>, startCall?: Instrumentation["startCall"]) {
  onTestFinished(
    instrument({ startCall: startCall ?? (() => observation(given)) }) ?? expect.fail("instrumented already"),
  );
}

describe.each(TRANSPORTS)("an instrumentation over %s", (_, transport) => {
  const fail = () => {
    throw new Error("wrong");
  };
  it.each<[string, Partial<CallObservation>]>([
    ["never runs a call", { within() {} }],
    ["never runs an attempt", { attempt() {} }],
    ["runs an attempt late", { attempt: (_event, _setHeader, run) => void setTimeout(run, 20) }],
    [
      "runs an attempt often, also later",
      {
        attempt(_event, _setHeader, run) {
          for (let count = 0; count < 3; count += 1) void run();
          setTimeout(run, 20);
          void run().then(() => run());
        },
      },
    ],
    [
      "runs a call often, also after its end",
      {
        within(run) {
          run();
          run();
          setTimeout(run, 50);
        },
      },
    ],
    ["throws everywhere", { within: fail, attempt: fail, waited: fail, retry: fail, paused: fail, ended: fail }],
    ["rejects", { attempt: () => Promise.reject(new Error("wrong")) as never }],
  ])("that %s sends a receipt once, and changes no result", async (_name, given) => {
    const server = await startServer();
    install(given);
    const client = connect(server, { ...transport, retry: QUICK });
    expect(await client.inventory.receive(RECEIPT)).toMatchObject({ recNo: expect.any(Number) });
    server.plan(faults.droppedAfterEffect());
    expect(await errorOf(client.inventory.receive(RECEIPT))).toMatchObject({ name: "OutcomeUnknownError" });
    await sleep(60);
    expect(server.effects("receive")).toBe(2);
  });

  it("adds headers to each attempt, but replaces none and sets none of the client's", async () => {
    const server = await startServer();
    install({
      attempt({ attempt }, setHeader, run) {
        setHeader("X-Trace", `attempt-${attempt}`);
        setHeader("x-mine", "of-the-instrumentation");
        setHeader("authorization", "Bearer other");
        setHeader("x-broken", "a\r\nb: c");
        void run();
      },
    });
    const client = connect(server, { ...transport, retry: QUICK, headers: { "X-Mine": "of-the-client" } });
    server.plan(faults.status(503));
    await client.items.get("BOLT");
    const sent = server.requests.filter((request) => !isToken(request));
    expect(sent.map(({ headers }) => [headers["x-trace"], headers["x-mine"], headers["x-broken"]])).toEqual([
      ["attempt-1", "of-the-client", undefined],
      ["attempt-2", "of-the-client", undefined],
    ]);
    for (const { headers } of sent) expect(headers.authorization).toMatch(/^Bearer (?!other)/);
  });
});

it("hooks of an instance of a class are called with it", async () => {
  const server = await startServer();
  class Counter {
    responses = 0;
    response() {
      this.responses += 1;
    }
  }
  const hooks = new Counter();
  await connect(server, { hooks }).items.get("BOLT");
  expect(hooks.responses).toBe(2);
});
