import {
  createNoopMeter,
  diag,
  type MeterProvider,
  metrics,
  ProxyTracerProvider,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { instrument } from "../client/for-add-ons.js";
import { fieldOf } from "../shared/unknown.js";
import { VERSION } from "../shared/version.js";
import { CallSpan, mayPropagate, startMethodSpan } from "./call-span.js";
import { createMetrics, type Metrics } from "./metrics.js";

/** The providers for spans and metrics. */
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
 * Reports the calls of all clients of the process as spans and metrics, including clients that other code has created.
 * A method that sends several requests, such as `getStockLevel`, is a span of its own, `stocklot.inventory.getStockLevel`.
 * Set up the SDK of OpenTelemetry before you call this function. Until the reports are stopped, another call changes
 * nothing, even a call by another copy of the package; it only logs a warning to the diagnostics of OpenTelemetry. So
 * nothing is reported twice.
 *
 * If an instrumentation of undici also records metrics, `http.client.request.duration` exists twice. The metric of this
 * package has the scope `stocklot`: drop one of the two metrics by a view, or filter by scope.
 *
 * @example
 * import { instrumentStocklot } from "stocklot/opentelemetry";
 *
 * const stop = instrumentStocklot();
 * await client.items.list().page();
 * stop();
 * @returns a function that stops the reports. A call in flight is still reported when it ends.
 */
export function instrumentStocklot(options: InstrumentOptions = {}): () => void {
  const provider = options.tracerProvider ?? trace.getTracerProvider();
  const tracer = provider.getTracer(INSTRUMENTATION_SCOPE, VERSION);
  const meter = (options.meterProvider ?? metrics).getMeter(INSTRUMENTATION_SCOPE, VERSION);
  const isOff = samplesNothing(tracer);
  let recorded: Metrics | undefined;
  const stop = instrument({
    isIdle: () => recorded === undefined && (hasNoDelegate(provider) || isOff) && !mayPropagate(),
    startMethod: (info) => startMethodSpan(tracer, info),
    startCall: (info) => CallSpan.start(tracer, recorded, info),
  });
  if (!stop) {
    diag.warn("stocklot: instrumentStocklot was called before, and is not stopped. This call changes nothing.");
    return () => {};
  }
  if (meter.constructor !== createNoopMeter().constructor) recorded = createMetrics(meter);
  return () => {
    stop();
    recorded?.stop();
  };
}

/** The provider that the API uses as long as no SDK was set up. */
const noProvider = /* @__PURE__ */ new ProxyTracerProvider().getDelegate();

const hasNoDelegate = (provider: TracerProvider) =>
  provider instanceof ProxyTracerProvider && provider.getDelegate() === noProvider;

/**
 * Whether a tracer of the SDK never records. Starting a span that is not recorded takes some per cent of a call, so the
 * private field of the SDK is read instead. A tracer without this field counts as recording.
 */
function samplesNothing(tracer: Tracer): boolean {
  try {
    const sampler = fieldOf(tracer, "_sampler");
    return sampler !== undefined && String(sampler) === "AlwaysOffSampler";
  } catch {
    // This is not a tracer of the SDK.
    return false;
  }
}
