import { diag, type MeterProvider, metrics, type TracerProvider, trace } from "@opentelemetry/api";
import { type ChannelName, hasDiagnosticsChannels, subscribeToChannel } from "../core/telemetry/channels.js";
import type { DiagnosticsMessages } from "../core/telemetry/events.js";
import { VERSION } from "../version.js";
import { CallObserver } from "./call-observer.js";
import { createCallInstruments } from "./instruments.js";
import { ProgressGauges } from "./progress-gauges.js";
import { RateLimitGauges } from "./rate-limit-gauges.js";

/** Where spans and metrics go. */
export interface InstrumentOptions {
  /**
   * Creates the spans.
   * @default the global tracer provider
   */
  tracerProvider?: TracerProvider | undefined;
  /**
   * Creates the metrics.
   * @default the global meter provider at this moment: set up the SDK first
   */
  meterProvider?: MeterProvider | undefined;
}

/** The name of the instrumentation scope, of spans and metrics. */
const INSTRUMENTATION_SCOPE = "stocklot";

/**
 * Reports what all clients of the process do as spans and metrics, also those that other code has created. Call it once,
 * after you have set up the SDK of OpenTelemetry.
 *
 * @example
 * import { instrumentStocklot } from "stocklot/opentelemetry";
 *
 * const stop = instrumentStocklot();
 * await client.items.list().page();
 * stop();
 * @returns a function that stops it, and ends the spans of calls in flight.
 */
export function instrumentStocklot(options: InstrumentOptions = {}): () => void {
  if (!hasDiagnosticsChannels) {
    diag.warn("stocklot: this runtime has no node:diagnostics_channel, so there are no spans and metrics.");
    return () => {};
  }
  const tracer = (options.tracerProvider ?? trace).getTracer(INSTRUMENTATION_SCOPE, VERSION);
  const meter = (options.meterProvider ?? metrics).getMeter(INSTRUMENTATION_SCOPE, VERSION);
  const calls = new CallObserver(tracer, createCallInstruments(meter));
  const rateLimits = new RateLimitGauges(meter);
  const progress = new ProgressGauges(meter);
  const subscriptions = [
    subscribeSafely("stocklot:request", (message) => calls.observe(message)),
    subscribeSafely("stocklot:attempt", (message) => calls.observe(message)),
    subscribeSafely("stocklot:retry", (message) => calls.observe(message)),
    subscribeSafely("stocklot:rate-limit", (message) => calls.observe(message)),
    subscribeSafely("stocklot:slot", (message) => {
      rateLimits.add(message.client);
      calls.observe(message);
    }),
    subscribeSafely("stocklot:outbox:progress", (message) => progress.observeOutbox(message)),
    subscribeSafely("stocklot:mirror:run", (message) => progress.observeMirror(message)),
  ];
  return () => {
    for (const unsubscribe of subscriptions.splice(0)) unsubscribe();
    for (const part of [calls, rateLimits, progress]) part.stop();
  };
}

/** Node.js makes an uncaught exception of what a subscriber throws, which would end the process. */
function subscribeSafely<Name extends ChannelName>(
  name: Name,
  listener: (message: DiagnosticsMessages[Name]) => void,
): () => void {
  return subscribeToChannel(name, (message) => {
    try {
      listener(message);
    } catch (error) {
      diag.error(`stocklot: a message of ${name} could not be recorded`, error);
    }
  });
}
