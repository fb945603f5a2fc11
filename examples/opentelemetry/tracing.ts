/** Sets up OpenTelemetry. Import it before the first call. */
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { traceStocklot } from "./trace-stocklot.js";

/** Keeps the spans for printing. Your program sends them with BatchSpanProcessor and an OTLP exporter. */
export const exporter = new InMemorySpanExporter();

const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
// Also installs the context manager that carries the active span across async calls.
provider.register();

const stop = traceStocklot();

/** Sends the remaining spans. Call it at the end of the program. */
export async function shutdown(): Promise<void> {
  stop();
  await provider.shutdown();
}
