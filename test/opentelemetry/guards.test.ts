import {
  createNoopMeter,
  INVALID_SPAN_CONTEXT,
  propagation,
  type Span,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { AlwaysOffSampler, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { InventoryClient, OutcomeUnknownError } from "stocklot";
import { instrumentStocklot } from "stocklot/opentelemetry";
import { createSandbox } from "stocklot/sandbox";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { instrument } from "../../src/client/observe/observer.js";

const unhandled = vi.fn();
beforeEach(() => void process.on("unhandledRejection", unhandled.mockClear()));
afterEach(() => void process.off("unhandledRejection", unhandled));

/** Functions that return something unexpected, or throw. */
const ODD: [string, () => unknown][] = [
  ["a rejected promise", () => Promise.reject(new Error("odd"))],
  [
    "a thenable that rejects",
    () => thenable({ value: (_: unknown, reject: (error: unknown) => void) => reject("odd") }),
  ],
  ["a thenable that throws", () => thenable({ get: () => raise() })],
  [
    "a promise with methods of its own",
    () => thenable({ value: raise }, Object.assign(Promise.reject(new Error("odd")), { catch: raise })),
  ],
  ["an exception", () => raise()],
  ["nothing", () => undefined],
  ["a Proxy that throws", () => new Proxy({}, { get: () => raise(), has: () => raise() })],
];

// biome-ignore lint/suspicious/noThenProperty: what is tested.
const thenable = (then: PropertyDescriptor, object = {}): unknown => Object.defineProperty(object, "then", then);

function raise(): never {
  throw new Error("odd");
}

function connect() {
  const sandbox = createSandbox({
    items: [{ shortID: "BOLT-M8" }, { shortID: "B" }, { shortID: "C" }],
    lots: [],
    rateLimit: false,
  });
  const client = new InventoryClient({
    baseUrl: sandbox.baseUrl,
    ...sandbox.credentials,
    fetch: sandbox.fetch,
    retry: { minDelayMs: 1, maxDelayMs: 2 },
  });
  onTestFinished(() => client.close());
  return { client, sandbox };
}

/** Makes calls of all kinds: with a retry, with an error, and with several requests. */
async function callAll(): Promise<void> {
  const { client, sandbox } = connect();
  expect(await client.items.list().page()).toMatchObject({ totalCount: 3 });
  sandbox.addFault({ method: "GET", times: 1, fault: { type: "status", status: 503 } });
  expect(await client.items.get("BOLT-M8")).toMatchObject({ shortID: "BOLT-M8" });
  await expect(client.items.get("NO-SUCH")).rejects.toThrow("404");
  expect(await client.inventory.getStockLevel("BOLT-M8")).not.toBeUndefined();
  sandbox.addFault({
    method: "POST",
    path: "/Inventory/Receive",
    times: 1,
    fault: { type: "drop", when: "after" },
  });
  const receipt = { itemID: "BOLT-M8", units: 1, wid: 1, reasonCode: 1 };
  await client.inventory.receive(receipt).catch((error: unknown) => expect(error).toBeInstanceOf(OutcomeUnknownError));
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(unhandled).not.toHaveBeenCalled();
}

describe.each(ODD)("%s instead of what an observer returns changes no call:", (_, odd) => {
  const METHODS = [
    "setAttribute",
    "setAttributes",
    "addEvent",
    "setStatus",
    "end",
    "spanContext",
    "isRecording",
  ] as const;
  const oddSpan = (methods: readonly string[]): Span =>
    Object.assign(Object.create(trace.wrapSpanContext(INVALID_SPAN_CONTEXT)), {
      isRecording: () => true,
      ...Object.fromEntries(methods.map((name) => [name, odd])),
    });
  const providerOf = (startSpan: () => unknown): TracerProvider =>
    ({ getTracer: () => ({ startSpan, startActiveSpan: startSpan }) }) as unknown as TracerProvider;

  it("a tracer", async () => {
    onTestFinished(instrumentStocklot({ tracerProvider: providerOf(odd) }));
    await callAll();
  });

  it.each([...METHODS.map((name) => [name]), METHODS.slice(0, 5), METHODS])("a span (%s)", async (...methods) => {
    onTestFinished(instrumentStocklot({ tracerProvider: providerOf(() => oddSpan(methods)) }));
    await callAll();
  });

  it("a meter", async () => {
    const instrumentOf = () => ({ record: odd, add: odd });
    const meter = Object.assign(Object.create({ constructor: Object }), {
      ...Object.fromEntries(
        [
          "createHistogram",
          "createCounter",
          "createGauge",
          "createObservableUpDownCounter",
          "createObservableGauge",
        ].map((name) => [name, instrumentOf]),
      ),
      addBatchObservableCallback: () => {},
      removeBatchObservableCallback: () => {},
    });
    expect(meter.constructor).not.toBe(createNoopMeter().constructor);
    onTestFinished(instrumentStocklot({ meterProvider: { getMeter: () => meter } }));
    await callAll();
  });

  it.each(["isIdle", "startCall", "startMethod"])("an instrumentation (%s)", async (name) => {
    onTestFinished(instrument({ startCall: () => undefined, [name]: odd }) ?? expect.fail("instrumented already"));
    await callAll();
  });

  it.each(["within", "attempt", "waited", "retry", "paused", "ended"])("an observation (%s)", async (name) => {
    const observation = {
      ...Object.fromEntries(["within", "attempt", "waited", "retry", "paused", "ended"].map((one) => [one, () => {}])),
      [name]: odd,
    };
    const start = () => observation as never;
    onTestFinished(instrument({ startCall: start, startMethod: start }) ?? expect.fail("instrumented already"));
    await callAll();
  });

  it("a hook and a logger", async () => {
    const sandbox = createSandbox({ items: 3, rateLimit: false });
    const log = { debug: odd, info: odd, warn: odd, error: odd } as never;
    const hooks = { request: odd, response: odd, retry: odd, token: odd } as never;
    const { baseUrl, fetch, credentials } = sandbox;
    const client = new InventoryClient({ baseUrl, ...credentials, fetch, logger: log, hooks });
    onTestFinished(() => client.close());
    expect(await client.items.list({}, { onResponse: odd as never }).page()).toMatchObject({ totalCount: 3 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(unhandled).not.toHaveBeenCalled();
  });
});

it("as long as no SDK is set up, no call is looked at", async () => {
  const { client } = connect();
  const getAttributes = vi.spyOn(trace.getTracerProvider(), "getTracer");
  onTestFinished(instrumentStocklot());
  const [tracer] = getAttributes.mock.results.map(({ value }) => value);
  const startSpan = vi.spyOn(tracer, "startSpan");
  await client.inventory.getStockLevel("BOLT-M8");
  expect(startSpan).not.toHaveBeenCalled();
});

it("an SDK that samples nothing is asked once per call", async () => {
  const { client, sandbox } = connect();
  await client.items.list().page();
  const startSpan = vi.fn(() => trace.wrapSpanContext(INVALID_SPAN_CONTEXT));
  const tracer = { startSpan, startActiveSpan: startSpan } as never;
  onTestFinished(instrumentStocklot({ tracerProvider: { getTracer: () => tracer } }));
  sandbox.addFault({ method: "GET", times: 1, fault: { type: "status", status: 503 } });
  await client.items.get("BOLT-M8");
  expect(startSpan).toHaveBeenCalledTimes(1);
});

it("an SDK whose sampler is off is not asked, unless its context reaches somebody", async () => {
  const { client } = connect();
  const provider = new NodeTracerProvider({ sampler: new AlwaysOffSampler() });
  const tracer = provider.getTracer("stocklot");
  const startSpan = vi.spyOn(tracer, "startSpan");
  onTestFinished(instrumentStocklot({ tracerProvider: { getTracer: () => tracer } }));
  await client.items.list().page();
  expect(startSpan).not.toHaveBeenCalled();
  propagation.setGlobalPropagator({ fields: () => ["traceparent"], inject: () => {}, extract: (given) => given });
  onTestFinished(() => void propagation.disable());
  await client.items.list().page();
  expect(startSpan).toHaveBeenCalled();
});
