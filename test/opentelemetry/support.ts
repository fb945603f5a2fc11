import { context, propagation, SpanKind, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import { type ClientOptions, InventoryClient } from "stocklot";
import { instrumentStocklot } from "stocklot/opentelemetry";
import { createSandbox, type SandboxOptions } from "stocklot/sandbox";
import { afterAll, beforeAll, onTestFinished } from "vitest";

export const SECRET = "a-very-secret-secret";

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

/** Registers the SDK of OpenTelemetry for all tests of a file, as a program does. */
export function registerTracing(): void {
  beforeAll(() => provider.register());
  afterAll(async () => {
    await provider.shutdown();
    for (const api of [trace, context, propagation]) api.disable();
  });
}

/** Returns the spans that have ended, in the order in which they ended. */
export const spans = () => exporter.getFinishedSpans();
export const resetSpans = () => exporter.reset();
export const isTokenSpan = ({ name }: ReadableSpan) => name.endsWith("/Token");
/** The spans of calls, without those of token requests. */
export const calls = () => spans().filter((span) => isCall(span) && !isTokenSpan(span));
/** The spans of attempts, without those of token requests. */
export const attempts = () => spans().filter((span) => span.kind === SpanKind.CLIENT && !isTokenSpan(span));
export const isCall = ({ kind, instrumentationScope }: ReadableSpan) =>
  kind === SpanKind.INTERNAL && instrumentationScope.name === "stocklot";
export const parentOf = ({ parentSpanContext }: ReadableSpan) => parentSpanContext?.spanId;
export const idOf = (span: ReadableSpan) => span.spanContext().spanId;

/** Runs a function within a span, and returns the span's id. */
export const within = (name: string, run: () => Promise<unknown>): Promise<string> =>
  trace.getTracer("test").startActiveSpan(name, async (span) => {
    await run();
    span.end();
    return span.spanContext().spanId;
  });

/** Creates a sandbox on real HTTP and a client of it, so that sockets and their callbacks take part. */
export async function connect(options: ClientOptions = {}, service: SandboxOptions = {}) {
  const clients = [{ clientId: "acme", clientSecret: SECRET }];
  const sandbox = createSandbox({ items: 3, lots: 60, clients, rateLimit: false, ...service });
  const server = await sandbox.listen();
  const settings: ClientOptions = {
    baseUrl: server.url,
    clientId: "acme",
    clientSecret: SECRET,
    retry: { minDelayMs: 1, maxDelayMs: 2, rateLimitDelayMs: [5, 10] },
    ...options,
  };
  const client = new InventoryClient(settings);
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  return { sandbox, client, settings, url: server.url, port: Number(new URL(server.url).port) };
}

/** Creates a client whose calls are traced. */
export async function traced(options: ClientOptions = {}, service: SandboxOptions = {}) {
  const connected = await connect(options, service);
  resetSpans();
  const stop = instrumentStocklot();
  onTestFinished(stop);
  return { ...connected, stop };
}

/** One measured value, with its attributes. A histogram has `count` and `sum`. */
export interface Point {
  attributes: Record<string, unknown>;
  value: number | { count: number; sum?: number };
}

/** A meter provider whose metrics can be read at any time. */
export function startMetrics() {
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => meterProvider.shutdown());

  /** Returns the current measurements, by the name of the metric. */
  async function collect() {
    metrics.reset();
    await reader.forceFlush();
    const found = metrics.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
    return new Map(
      found.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        { unit: descriptor.unit, points: dataPoints.map(({ attributes, value }) => ({ attributes, value }) as Point) },
      ]),
    );
  }
  return { meterProvider, collect };
}
