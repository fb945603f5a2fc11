import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { INVALID_SPAN_CONTEXT, trace } from "@opentelemetry/api";
import { build } from "esbuild";
import * as stocklot from "stocklot";
import * as instrumentation from "stocklot/opentelemetry";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { attempts, calls, connect, idOf, parentOf, registerTracing, resetSpans, startMetrics } from "./support.js";

registerTracing();

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface Copy {
  InventoryClient: typeof stocklot.InventoryClient;
  instrumentStocklot: typeof instrumentation.instrumentStocklot;
}

const esModules: Copy = { ...stocklot, ...instrumentation };
let commonJS: Copy;

// Loads a CommonJS copy into the same process, as `require("stocklot")` does beside `import`.
beforeAll(async () => {
  const outfile = join(ROOT, `node_modules/.cache/stocklot/copy-${process.pid}.cjs`);
  await build({
    stdin: {
      contents: 'export * from "./src/index.ts"; export * from "./src/opentelemetry/index.ts";',
      resolveDir: ROOT,
      loader: "ts",
    },
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    external: ["undici", "zod", "@opentelemetry/api"],
    logLevel: "error",
  });
  commonJS = createRequire(import.meta.url)(outfile);
  await rm(outfile);
});

describe.each<[string, () => [Copy, Copy]]>([
  ["ES modules observes a client of CommonJS", () => [esModules, commonJS]],
  ["CommonJS observes a client of ES modules", () => [commonJS, esModules]],
])("the instrumentation of %s", (_, copies) => {
  it("with spans and metrics", async () => {
    const [observer, { InventoryClient }] = copies();
    const { meterProvider, collect } = startMetrics();
    const { settings } = await connect();
    resetSpans();
    onTestFinished(observer.instrumentStocklot({ meterProvider }));
    const client = new InventoryClient(settings);
    onTestFinished(() => client.close());
    await client.items.list().page();
    expect(calls().map(({ name }) => name)).toEqual(["GET /api/v1/Item"]);
    expect(attempts().map(parentOf)).toEqual(calls().map(idOf));
    const metrics = await collect();
    for (const name of ["stocklot.call.duration", "stocklot.rate_limit.slots.available"])
      expect(metrics.get(name)?.points.length).toBeGreaterThan(0);
  });
});

it.each<[string, () => Copy]>([
  ["the same copy", () => esModules],
  ["the other copy", () => commonJS],
])("a second call by %s warns and reports nothing twice; the first one's function ends it", async (_, second) => {
  const { diag, DiagLogLevel } = await import("@opentelemetry/api");
  const warn = vi.fn();
  diag.setLogger({ error: warn, warn, info: warn, debug: warn, verbose: warn }, DiagLogLevel.WARN);
  onTestFinished(() => void diag.disable());
  const { meterProvider, collect } = startMetrics();
  const { client } = await connect();
  resetSpans();
  const stops = [esModules, second()].map(({ instrumentStocklot }) => instrumentStocklot({ meterProvider }));
  onTestFinished(() => stops.forEach((stop) => void stop()));
  const countCalls = async () => {
    const points = (await collect()).get("stocklot.call.duration")?.points ?? [];
    const page = points.find(({ attributes }) => attributes["http.request.method"] === "GET");
    return typeof page?.value === "object" ? page.value.count : 0;
  };
  await client.items.list().page();
  expect([calls().length, attempts().length, await countCalls()]).toEqual([1, 1, 1]);
  expect(warn.mock.calls.flat().join()).toContain("was called before");
  stops[1]?.();
  await client.items.list().page();
  expect([calls().length, await countCalls()]).toEqual([2, 2]);
  stops[0]?.();
  await client.items.list().page();
  expect([calls().length, await countCalls()]).toEqual([2, 2]);
  onTestFinished(second().instrumentStocklot({ meterProvider }));
  await client.items.list().page();
  expect(calls()).toHaveLength(3);
  // The stop function of an ended instrumentation does not stop the current one.
  stops[0]?.();
  await client.items.list().page();
  expect(calls()).toHaveLength(4);
});

it("a span that throws when it ends changes no call, and ends no process", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  onTestFinished(() => void process.off("unhandledRejection", unhandled));
  const { client } = await connect();
  const onEnd = () => {
    throw new Error("a wrong processor");
  };
  const span = Object.assign(Object.create(trace.wrapSpanContext(INVALID_SPAN_CONTEXT)), {
    isRecording: () => true,
    end: onEnd,
  });
  const tracer = { startSpan: () => span, startActiveSpan: () => span };
  const stop = instrumentation.instrumentStocklot({ tracerProvider: { getTracer: () => tracer } });
  expect(await client.items.list().page()).toMatchObject({ totalCount: 3 });
  stop();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(unhandled).not.toHaveBeenCalled();
});
