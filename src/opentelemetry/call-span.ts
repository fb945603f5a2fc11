import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { AttemptEnd, CallEnd, CallInfo, CallObservation } from "../client/for-add-ons.js";
import type { HookEvents } from "../client/index.js";
import { callSafely, isTrue, settle } from "../shared/time/callback.js";
import { outcomeAttributes, type TracedEndpoint, tracedEndpointOf } from "./attributes.js";
import type { Metrics } from "./metrics.js";

/** Set by any instrumentation of undici, which then propagates the context itself. */
const isUndiciInstrumented = () =>
  globalThis.process?.getBuiltinModule?.("node:diagnostics_channel")?.channel("undici:request:create")
    .hasSubscribers === true;

/** The span and the metrics of one call, with a child span for each attempt. */
export class CallSpan implements CallObservation {
  readonly #tracer: Tracer;
  readonly #info: CallInfo;
  readonly #name: string;
  readonly #attributes: Attributes;
  /** The context of the caller, with the span of the call. */
  readonly #context: Context;
  readonly #startedAt = performance.now();
  /** Undefined if metrics are not recorded. */
  readonly #metrics: Metrics | undefined;
  /** The span; `undefined` if a sampler has decided not to record it. Then the attempts have no spans, either. */
  readonly #span: Span | undefined;
  #attemptError: Attributes = {};
  #retries = 0;
  private constructor(observed: Observed, tracer: Tracer, metrics: Metrics | undefined, info: CallInfo) {
    this.#tracer = tracer;
    this.#metrics = metrics;
    this.#info = info;
    this.#name = observed.endpoint.name;
    this.#attributes = observed.endpoint.attributes;
    this.#context = trace.setSpan(observed.parent, observed.span);
    this.#span = observed.isRecording ? observed.span : undefined;
    // Set only if the span is recorded, because it takes time. Samplers have the template instead.
    callSafely(() => this.#span?.setAttribute("url.full", info.url));
    metrics?.addClient(info.client);
  }

  /**
   * Starts a span in the present context, which is the caller's: the span keeps this parent, however long the call
   * waits. Returns `undefined` if there is nothing to record or to propagate. The call then goes on as if it were not
   * observed.
   */
  static start(tracer: Tracer, metrics: Metrics | undefined, info: CallInfo): CallSpan | undefined {
    const parent = context.active();
    const endpoint = tracedEndpointOf(info);
    // INTERNAL instead of CLIENT, since each attempt is a request of its own.
    const { name, attributes } = endpoint;
    const span = startSpan(tracer, name, { kind: SpanKind.INTERNAL, attributes, parent });
    const isRecording = isTrue(span.isRecording());
    return isRecording || metrics !== undefined || isPropagated(span)
      ? new CallSpan({ parent, span, isRecording, endpoint }, tracer, metrics, info)
      : undefined;
  }

  within(run: () => void): void {
    context.with(this.#context, run);
  }

  /** Sends the attempt in the context of its span, so that spans of other instrumentations become its children. */
  attempt(
    { attempt }: HookEvents["request"],
    setHeader: (name: string, value: string) => void,
    run: () => Promise<AttemptEnd>,
  ): void {
    const span = this.#span && this.#startAttempt(attempt - 1);
    const own = span ? trace.setSpan(this.#context, span) : this.#context;
    if (!isUndiciInstrumented())
      callSafely(() => propagation.inject(own, undefined, { set: (_, name, value) => setHeader(name, value) }));
    // Otherwise the attempt goes on in the context of the call, and is not recorded.
    if (!span && !this.#metrics) return;
    const startedAt = performance.now();
    context.with(own, () => {
      // A processor of the application's may throw when a span ends.
      const ended = run().then((end) => this.#attemptEnded(span, end, performance.now() - startedAt));
      ended.catch(() => {});
    });
  }

  #startAttempt(resent: number): Span {
    const attributes = { ...this.#attributes, "url.full": this.#info.url, ...resendCount(resent) };
    return startSpan(this.#tracer, this.#name, { kind: SpanKind.CLIENT, attributes, parent: this.#context });
  }

  #attemptEnded(span: Span | undefined, { status, error }: AttemptEnd, durationMs: number): void {
    const type = error ?? (status !== undefined && status >= 400 ? String(status) : undefined);
    this.#attemptError = outcomeAttributes(undefined, type);
    const outcome = outcomeAttributes(status, type);
    callSafely(() => this.#metrics?.attemptDuration.record(durationMs / 1_000, { ...this.#attributes, ...outcome }));
    if (status === 429) callSafely(() => this.#metrics?.rejections.add(1, this.#attributes));
    endWith(span, outcome);
  }

  waited(ms: number): void {
    callSafely(() => this.#metrics?.slotWait.record(ms / 1_000, this.#attributes));
  }

  paused({ delayMs }: HookEvents["rateLimited"]): void {
    callSafely(() => this.#metrics?.pauseDuration.record(delayMs / 1_000, this.#attributes));
    callSafely(() => this.#span?.addEvent("pause", { "stocklot.pause.duration_ms": delayMs }));
  }

  retry({ reason }: HookEvents["retry"]): void {
    this.#retries += 1;
    callSafely(() => this.#metrics?.retries.add(1, { ...this.#attributes, ...this.#attemptError }));
    callSafely(() => this.#span?.addEvent("retry", { "stocklot.retry.reason": reason }));
  }

  ended({ status, error }: CallEnd): void {
    const outcome = outcomeAttributes(status, error);
    const attributes = { ...this.#attributes, ...outcome };
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    callSafely(() => this.#metrics?.callDuration.record(seconds, attributes));
    const { method, path } = this.#info;
    if (method === "POST" && path === "/Token") callSafely(() => this.#metrics?.tokenRequests.add(1, attributes));
    endWith(this.#span, { ...outcome, ...resendCount(this.#retries) });
  }
}

interface Observed {
  parent: Context;
  span: Span;
  isRecording: boolean;
  endpoint: TracedEndpoint;
}

export function startSpan(
  tracer: Tracer,
  name: string,
  { kind, attributes, parent }: { kind: SpanKind; attributes: Attributes; parent: Context },
): Span {
  const span = tracer.startSpan(name, { kind, attributes }, parent);
  // The tracer has returned something other than a span, perhaps a promise.
  if (typeof span.isRecording !== "function") settle(span);
  return span;
}

/**
 * Whether the context of a span that is not recorded has an effect: it becomes a header, or the parent of other spans,
 * which must not be sampled either.
 */
export const isPropagated = (span: Span): boolean =>
  propagation.fields().length > 0 || (hasContextManager() && isSpanContextValid(span.spanContext()));

/** Whether the context of a span may have an effect. */
export const mayPropagate = (): boolean => propagation.fields().length > 0 || hasContextManager();

/** A context by which a manager of contexts is detected: without a manager, `context.with` changes nothing. */
const PROBE = /* @__PURE__ */ ROOT_CONTEXT.setValue(/* @__PURE__ */ createContextKey("stocklot"), true);
const hasContextManager = () => context.with(PROBE, isProbeActive);
const isProbeActive = () => context.active() === PROBE;

export function endWith(span: Span | undefined, outcome: Attributes): void {
  callSafely(() => span?.setAttributes(outcome));
  if ("error.type" in outcome) callSafely(() => span?.setStatus({ code: SpanStatusCode.ERROR }));
  callSafely(() => span?.end());
}

/** How often a request was sent before; no attribute for the first attempt. */
const resendCount = (count: number): Attributes => (count > 0 ? { "http.request.resend_count": count } : {});
