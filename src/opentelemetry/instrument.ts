import { createNoopMeter, diag, type MeterProvider, metrics, type TracerProvider, trace } from "@opentelemetry/api";
import { instrument } from "../client/for-add-ons.js";
import { VERSION } from "../shared/version.js";
import { CallSpan } from "./call-span.js";
import { createMetrics } from "./metrics.js";

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
 * Reports the calls of all clients of the process as spans and metrics, also of clients that other code has created.
 * Call it after you have set up the SDK of OpenTelemetry. If it is called again, also by another copy of the package,
 * nothing is reported twice: the providers of the first call stay in use, with a warning if the other call passes
 * different ones.
 *
 * If an instrumentation of undici also records metrics, `http.client.request.duration` exists twice. The metric of this one
 * has the scope `stocklot`: drop one of the two by a view, or filter by scope.
 *
 * @example
 * import { instrumentStocklot } from "stocklot/opentelemetry";
 *
 * const stop = instrumentStocklot();
 * await client.items.list().page();
 * stop();
 * @returns a function that stops the reports, and ends the spans of calls in flight. After several calls of
 * `instrumentStocklot`, only the last of these functions to be called has this effect.
 */
export function instrumentStocklot(options: InstrumentOptions = {}): () => void {
  const running = globals[INSTRUMENTATION] ?? { options, callers: 0, stop: startInstrumentation(options) };
  globals[INSTRUMENTATION] = running;
  running.callers += 1;
  if (
    isOtherProvider(options.tracerProvider, running.options.tracerProvider) ||
    isOtherProvider(options.meterProvider, running.options.meterProvider)
  )
    diag.warn("stocklot: instrumentStocklot was called before with other providers, which stay in use.");
  let isStopped = false;
  return () => {
    if (isStopped) return;
    isStopped = true;
    running.callers -= 1;
    if (running.callers > 0) return;
    delete globals[INSTRUMENTATION];
    running.stop();
  };
}

/** What all copies of the package in the process share, so that together they report each call once. */
interface RunningInstrumentation {
  /** Of the first caller. */
  readonly options: InstrumentOptions;
  /** How many callers have not stopped it. */
  callers: number;
  readonly stop: () => void;
}

/** A property of the global object, since the ES module and the CommonJS copy share no module. */
const INSTRUMENTATION: unique symbol = Symbol.for("stocklot.opentelemetry");

const globals: typeof globalThis & { [INSTRUMENTATION]?: RunningInstrumentation } = globalThis;

const isOtherProvider = (provider: object | undefined, used: object | undefined) =>
  provider !== undefined && provider !== used;

function startInstrumentation(options: InstrumentOptions): () => void {
  const tracer = (options.tracerProvider ?? trace).getTracer(INSTRUMENTATION_SCOPE, VERSION);
  const meter = (options.meterProvider ?? metrics).getMeter(INSTRUMENTATION_SCOPE, VERSION);
  const recorded = meter.constructor === createNoopMeter().constructor ? undefined : createMetrics(meter);
  const open = new Set<CallSpan>();
  const stopCalls = instrument({
    startCall(info) {
      const call = new CallSpan(tracer, recorded, info);
      if (!call.isObserved) return undefined;
      open.add(call);
      return {
        within: (run) => call.within(run),
        attempt: (event, setHeader, run) => call.attempt(event, setHeader, run),
        waited: (ms) => open.has(call) && call.waited(ms),
        retry: (event) => open.has(call) && call.retry(event),
        paused: (event) => open.has(call) && call.paused(event),
        ended: (end) => open.delete(call) && call.ended(end),
      };
    },
    progress: (event) => recorded?.progress(event),
  });
  return () => {
    stopCalls();
    recorded?.stop();
    for (const call of open) call.abandon();
    open.clear();
  };
}
