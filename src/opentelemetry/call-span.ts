import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { AttemptEnd, CallEnd, CallInfo, CallObservation } from "../client/for-add-ons.js";
import type { HookEvents } from "../client/index.js";
import { callAttributes, outcomeAttributes } from "./attributes.js";
import type { Metrics } from "./metrics.js";

/** Set by any instrumentation of undici, which then propagates the context itself. */
const isUndiciInstrumented = () =>
  globalThis.process?.getBuiltinModule?.("node:diagnostics_channel")?.channel("undici:request:create")
    .hasSubscribers === true;

/** The span and the metrics of one call, with a child span for each attempt. */
export class CallSpan implements CallObservation {
  readonly #tracer: Tracer;
  readonly #info: CallInfo;
  readonly #attributes: Attributes;
  /** The context of the caller, with the span of the call. */
  readonly #context: Context;
  readonly #startedAt = performance.now();
  /** Undefined if metrics are not recorded. */
  readonly #metrics: Metrics | undefined;
  /** Undefined if it is not recorded, as a sampler may decide: then its attempts have no spans, either. */
  readonly #span: Span | undefined;
  #attemptError: Attributes = {};
  #retries = 0;
  /** False if there is nothing to record or to propagate. */
  readonly isObserved: boolean;

  /** Called where the caller called: its context is the parent, however long the call waits. */
  constructor(tracer: Tracer, metrics: Metrics | undefined, info: CallInfo) {
    this.#tracer = tracer;
    this.#metrics = metrics;
    this.#info = info;
    this.#attributes = callAttributes(info);
    const parent = context.active();
    // Not CLIENT: each attempt is a request of its own.
    const span = this.#start(SpanKind.INTERNAL, parent);
    this.#context = trace.setSpan(parent, span);
    this.#span = span.isRecording() ? span : undefined;
    const isPropagated = isSpanContextValid(span.spanContext()) || propagation.fields().length > 0;
    this.isObserved = this.#span !== undefined || metrics !== undefined || isPropagated;
    metrics?.addClient(info.client);
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
    const span = this.#span && this.#start(SpanKind.CLIENT, this.#context, resendCount(attempt - 1));
    const own = span ? trace.setSpan(this.#context, span) : this.#context;
    if (!isUndiciInstrumented())
      propagation.inject(own, undefined, { set: (_, name, value) => setHeader(name, value) });
    const startedAt = performance.now();
    context.with(own, () => {
      // A processor of the application's may throw when a span ends.
      const ended = run().then((end) => this.#attemptEnded(span, end, performance.now() - startedAt));
      ended.catch(() => {});
    });
  }

  #attemptEnded(span: Span | undefined, { status, error }: AttemptEnd, durationMs: number): void {
    const type = error ?? (status !== undefined && status >= 400 ? String(status) : undefined);
    this.#attemptError = outcomeAttributes(undefined, type);
    const outcome = outcomeAttributes(status, type);
    this.#metrics?.attemptDuration.record(durationMs / 1_000, { ...this.#attributes, ...outcome });
    if (status === 429) this.#metrics?.rejections.add(1, this.#attributes);
    endWith(span, outcome);
  }

  waited(ms: number): void {
    this.#metrics?.slotWait.record(ms / 1_000, this.#attributes);
  }

  paused({ delayMs }: HookEvents["rateLimited"]): void {
    this.#metrics?.pauseDuration.record(delayMs / 1_000, this.#attributes);
    this.#span?.addEvent("pause", { "stocklot.pause.duration_ms": delayMs });
  }

  retry({ reason }: HookEvents["retry"]): void {
    this.#retries += 1;
    this.#metrics?.retries.add(1, { ...this.#attributes, ...this.#attemptError });
    this.#span?.addEvent("retry", { "stocklot.retry.reason": reason });
  }

  ended({ status, error }: CallEnd): void {
    const outcome = outcomeAttributes(status, error);
    const attributes = { ...this.#attributes, ...outcome };
    this.#metrics?.callDuration.record((performance.now() - this.#startedAt) / 1_000, attributes);
    const { method, path } = this.#info;
    if (method === "POST" && path === "/Token") this.#metrics?.tokenRequests.add(1, attributes);
    endWith(this.#span, { ...outcome, ...resendCount(this.#retries) });
  }

  #start(kind: SpanKind, parent: Context, more: Attributes = {}): Span {
    const { method, url } = this.#info;
    const name = [method, this.#attributes["url.template"]].join(" ").trim();
    const attributes = { ...this.#attributes, "url.full": url, ...more };
    return this.#tracer.startSpan(name, { kind, attributes }, parent);
  }
}

function endWith(span: Span | undefined, outcome: Attributes): void {
  span?.setAttributes(outcome);
  if ("error.type" in outcome) span?.setStatus({ code: SpanStatusCode.ERROR });
  span?.end();
}

/** How often a request was sent before; no attribute for the first attempt. */
const resendCount = (count: number): Attributes => (count > 0 ? { "http.request.resend_count": count } : {});
