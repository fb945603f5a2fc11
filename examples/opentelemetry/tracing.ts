/** Sets OpenTelemetry up. To be imported before the first call. */
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { traceStocklot } from "./trace-stocklot.js";

/** Keeps the spans, to be printed. A program of yours sends them: BatchSpanProcessor and an OTLP exporter. */
export const exporter = new InMemorySpanExporter();

const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
// Also installs what carries the active span from one async step to the next.
provider.register();

const stop = traceStocklot();

/** Sends what is left. To be called at the end of the program. */
export async function shutdown(): Promise<void> {
  stop();
  await provider.shutdown();
}
