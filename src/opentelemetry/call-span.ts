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
import type {
  AttemptEnd,
  CallEnd,
  CallInfo,
  CallObservation,
  MethodInfo,
  MethodObservation,
} from "../client/for-add-ons.js";
import type { HookEvents } from "../client/index.js";
import { callSafely, isTrue, settle } from "../shared/time/callback.js";
import { outcomeAttributes, serverOf, type TracedEndpoint, tracedEndpointOf } from "./attributes.js";
import type { Metrics } from "./metrics.js";

/** Set by any instrumentation of undici, which then propagates the context itself. */
const isUndiciInstrumented = () =>
  globalThis.process?.getBuiltinModule?.("node:diagnostics_channel")?.channel("undici:request:create")
    .hasSubscribers === true;

/** The span and the metrics of one call, with a child span for each attempt. */
export class CallSpan implements CallObservation {
  readonly #startedAt = performance.now();
  #attemptError: Attributes = {};
  #retries = 0;

  private constructor(private readonly observed: Observed) {
    const { span, metrics, info } = observed;
    // Set only if the span is recorded, because it takes time. Samplers have the template instead.
    callSafely(() => span?.setAttribute("url.full", info.url));
    metrics?.addClient(info.client);
  }

  /**
   * Starts a span in the present context, which is the caller's: the span keeps this parent, however long the call
   * waits. Returns `undefined` if there is nothing to record or to propagate. The call then goes on as if it were not
   * observed.
   */
  static start(tracer: Tracer, metrics: Metrics | undefined, info: CallInfo): CallSpan | undefined {
    const parent = context.active();
    const { name, attributes } = tracedEndpointOf(info);
    // INTERNAL instead of CLIENT, since each attempt is a request of its own.
    const span = startSpan(tracer, name, { kind: SpanKind.INTERNAL, attributes, parent });
    const recorded = isTrue(span.isRecording()) ? span : undefined;
    return recorded || metrics !== undefined || isPropagated(span)
      ? new CallSpan({ tracer, metrics, info, name, attributes, context: trace.setSpan(parent, span), span: recorded })
      : undefined;
  }

  within(run: () => void): void {
    context.with(this.observed.context, run);
  }

  /** Sends the attempt in the context of its span, so that spans of other instrumentations become its children. */
  attempt(
    { attempt }: HookEvents["request"],
    setHeader: (name: string, value: string) => void,
    run: () => Promise<AttemptEnd>,
  ): void {
    const span = this.observed.span && this.#startAttempt(attempt - 1);
    const own = span ? trace.setSpan(this.observed.context, span) : this.observed.context;
    if (!isUndiciInstrumented())
      callSafely(() => propagation.inject(own, undefined, { set: (_, name, value) => setHeader(name, value) }));
    // Otherwise the attempt goes on in the context of the call, and is not recorded.
    if (!span && !this.observed.metrics) return;
    const startedAt = performance.now();
    context.with(own, () => {
      // A processor of the application's may throw when a span ends.
      const ended = run().then((end) => this.#attemptEnded(span, end, performance.now() - startedAt));
      ended.catch(() => {});
    });
  }

  #startAttempt(resent: number): Span {
    const { tracer, name, info, context: parent } = this.observed;
    const attributes = { ...this.observed.attributes, "url.full": info.url, ...resendCount(resent) };
    return startSpan(tracer, name, { kind: SpanKind.CLIENT, attributes, parent });
  }

  #attemptEnded(span: Span | undefined, { status, error }: AttemptEnd, durationMs: number): void {
    const type = error ?? (status !== undefined && status >= 400 ? String(status) : undefined);
    this.#attemptError = outcomeAttributes(undefined, type);
    const outcome = outcomeAttributes(status, type);
    const { metrics, attributes } = this.observed;
    callSafely(() => metrics?.attemptDuration.record(durationMs / 1_000, { ...attributes, ...outcome }));
    if (status === 429) callSafely(() => metrics?.rejections.add(1, attributes));
    endWith(span, outcome);
  }

  waited(ms: number): void {
    callSafely(() => this.observed.metrics?.slotWait.record(ms / 1_000, this.observed.attributes));
  }

  paused({ delayMs }: HookEvents["rateLimited"]): void {
    callSafely(() => this.observed.metrics?.pauseDuration.record(delayMs / 1_000, this.observed.attributes));
    callSafely(() => this.observed.span?.addEvent("pause", { "stocklot.pause.duration_ms": delayMs }));
  }

  retry({ reason }: HookEvents["retry"]): void {
    this.#retries += 1;
    callSafely(() => this.observed.metrics?.retries.add(1, { ...this.observed.attributes, ...this.#attemptError }));
    callSafely(() => this.observed.span?.addEvent("retry", { "stocklot.retry.reason": reason }));
  }

  ended({ status, error }: CallEnd): void {
    const outcome = outcomeAttributes(status, error);
    const { metrics, info, span } = this.observed;
    const attributes = { ...this.observed.attributes, ...outcome };
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    callSafely(() => metrics?.callDuration.record(seconds, attributes));
    const isToken = info.method === "POST" && info.path === "/Token";
    if (isToken) callSafely(() => metrics?.tokenRequests.add(1, attributes));
    endWith(span, { ...outcome, ...resendCount(this.#retries) });
  }
}

/**
 * Starts the span of a method that is one call for its caller; the spans of its requests are its children. Returns
 * `undefined` if it is not recorded, and its context does not tell its requests not to be sampled either.
 */
export function startMethodSpan(tracer: Tracer, { name, client }: MethodInfo): MethodObservation | undefined {
  const parent = context.active();
  const options = { kind: SpanKind.INTERNAL, attributes: serverOf(client).attributes, parent };
  const span = startSpan(tracer, `stocklot.${name}`, options);
  if (!isTrue(span.isRecording()) && !isPropagated(span)) return undefined;
  const own = trace.setSpan(parent, span);
  return {
    within: (run) => context.with(own, run),
    ended: ({ error }) => endWith(span, outcomeAttributes(undefined, error)),
  };
}

interface Observed extends TracedEndpoint {
  tracer: Tracer;
  /** Undefined if metrics are not recorded. */
  metrics: Metrics | undefined;
  info: CallInfo;
  /** The context of the caller, with the span of the call. */
  context: Context;
  /** The span; `undefined` if a sampler has decided not to record it. Then the attempts have no spans, either. */
  span: Span | undefined;
}

function startSpan(
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
const isPropagated = (span: Span): boolean =>
  propagation.fields().length > 0 || (hasContextManager() && isSpanContextValid(span.spanContext()));

/** Whether the context of a span may have an effect. */
export const mayPropagate = (): boolean => propagation.fields().length > 0 || hasContextManager();

/** A context by which a manager of contexts is detected: without a manager, `context.with` changes nothing. */
const PROBE = /* @__PURE__ */ ROOT_CONTEXT.setValue(/* @__PURE__ */ createContextKey("stocklot"), true);
const hasContextManager = () => context.with(PROBE, isProbeActive);
const isProbeActive = () => context.active() === PROBE;

function endWith(span: Span | undefined, outcome: Attributes): void {
  callSafely(() => span?.setAttributes(outcome));
  if ("error.type" in outcome) callSafely(() => span?.setStatus({ code: SpanStatusCode.ERROR }));
  callSafely(() => span?.end());
}

/** How often a request was sent before; no attribute for the first attempt. */
const resendCount = (count: number): Attributes => (count > 0 ? { "http.request.resend_count": count } : {});
