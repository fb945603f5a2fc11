/** Sets up OpenTelemetry. Import it before the first call. */
import { metrics } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { instrumentStocklot } from "stocklot/opentelemetry";

/** Keep spans and metrics for printing. Your program sends them with a BatchSpanProcessor and OTLP exporters. */
export const spanExporter = new InMemorySpanExporter();
export const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);

const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spanExporter)] });
// Also installs the context manager that carries the active span across async calls, and the propagator for traceparent.
tracerProvider.register();

const meterProvider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: metricExporter })] });
metrics.setGlobalMeterProvider(meterProvider);

const stop = instrumentStocklot();

/** Exports the metrics now. */
export const flush = () => meterProvider.forceFlush();

/** Sends what remains. Call it at the end of the program. */
export async function shutdown(): Promise<void> {
  stop();
  await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
}
