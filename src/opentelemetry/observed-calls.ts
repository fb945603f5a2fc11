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
import { openChannel } from "../client/for-add-ons.js";
import type {
  DiagnosticsMessages,
  EndEvent,
  FailedEvent,
  RateLimitedEvent,
  ResponseEvent,
  RetryEvent,
  SendingEvent,
  SlotEvent,
  StartEvent,
} from "../client/index.js";
import {
  callAttributes,
  ERROR_TYPE_ATTRIBUTE,
  errorAttributes,
  RESEND_COUNT_ATTRIBUTE,
  STATUS_CODE_ATTRIBUTE,
  statusAttributes,
  URL_FULL_ATTRIBUTE,
  URL_TEMPLATE_ATTRIBUTE,
} from "./attributes.js";
import type { CallInstruments } from "./instruments.js";

type CallMessage = DiagnosticsMessages[
  | "stocklot:request"
  | "stocklot:attempt"
  | "stocklot:retry"
  | "stocklot:rate-limit"
  | "stocklot:slot"];

/** The calls in flight. Passes each message to the call that it is about. */
export class ObservedCalls {
  /** By number. A call that began before the subscription is not among them. */
  readonly #calls = new Map<number, ObservedCall>();
  readonly #tracer: Tracer;
  readonly #instruments: CallInstruments | undefined;

  /** @param instruments undefined if metrics are not recorded */
  constructor(tracer: Tracer, instruments: CallInstruments | undefined) {
    this.#tracer = tracer;
    this.#instruments = instruments;
  }

  observe(message: CallMessage): void {
    if (message.type === "start") {
      const started = new ObservedCall(this.#tracer, this.#instruments, message);
      if (started.isObserved) this.#calls.set(message.call, started);
      return;
    }
    const call = this.#calls.get(message.call);
    if (!call) return;
    if (message.type === "slot") call.slotGranted(message);
    else if (message.type === "sending") call.attemptStarted(message);
    else if (message.type === "response" || message.type === "failed") call.attemptEnded(message);
    else if (message.type === "rateLimited") call.paused(message);
    else if (message.type === "retry") call.retried(message);
    else if (message.type === "end") {
      this.#calls.delete(message.call);
      call.ended(message);
    }
  }

  /** Ends the spans of calls in flight. */
  stop(): void {
    for (const call of this.#calls.values()) call.abandon();
    this.#calls.clear();
  }
}

/**
 * Instrumentations of undici, and so of the fetch of Node.js, subscribe to this channel and add `traceparent` to each
 * request. A second one would make both invalid.
 */
const undiciRequestChannel = openChannel("undici:request:create");

const msToSeconds = (ms: number) => ms / 1_000;

/** The spans and metrics of one call: a span for the call, and a child for each attempt. */
class ObservedCall {
  readonly #tracer: Tracer;
  /** Undefined if metrics are not recorded. */
  readonly #instruments: CallInstruments | undefined;
  /** The context of the caller, with the span of the call. */
  readonly #context: Context;
  readonly #start: StartEvent;
  readonly #attributes: Attributes;
  readonly #isTokenRequest: boolean;
  /** False if there is nothing to record or to propagate. */
  readonly isObserved: boolean;
  /** Undefined if it is not recorded, as a sampler may decide: then its attempts have no spans, either. */
  readonly #span: Span | undefined;
  #attempt: Span | undefined;
  /** Of the request that is sent: a call may send several, to different paths. */
  #attemptAttributes: Attributes;
  #retries = 0;
  /** How the last attempt failed, as `error.type`. */
  #attemptError: Attributes = {};

  /** Called where the caller called: its context is the parent, however long the call waits. */
  constructor(tracer: Tracer, instruments: CallInstruments | undefined, start: StartEvent) {
    this.#tracer = tracer;
    this.#instruments = instruments;
    this.#start = start;
    this.#attributes = this.#attemptAttributes = callAttributes(start);
    this.#isTokenRequest = start.method === "POST" && start.path === "/Token";
    const callersContext = context.active();
    // Not CLIENT: each attempt is a request of its own.
    const span = this.#startSpan(SpanKind.INTERNAL, callersContext, start);
    this.#context = trace.setSpan(callersContext, span);
    this.#span = span.isRecording() ? span : undefined;
    const isPropagated = isSpanContextValid(span.spanContext()) || propagation.fields().length > 0;
    this.isObserved = this.#span !== undefined || instruments !== undefined || isPropagated;
  }

  slotGranted({ waitedMs }: SlotEvent): void {
    this.#instruments?.slotWait.record(msToSeconds(waitedMs), this.#attributes);
  }

  /** Sends the attempt in the context of its span, so that spans of other instrumentations become its children. */
  attemptStarted({ attempt, method, path, setHeader, sendWithin }: SendingEvent): void {
    const baseUrl = this.#start.url.slice(0, -this.#start.path.length);
    const request = { ...this.#start, method, path, url: baseUrl + path };
    this.#attemptAttributes = path === this.#start.path ? this.#attributes : callAttributes(request);
    this.#attempt =
      this.#span && this.#startSpan(SpanKind.CLIENT, this.#context, request, resendCountAttribute(attempt - 1));
    const attemptContext = this.#attempt ? trace.setSpan(this.#context, this.#attempt) : this.#context;
    if (!undiciRequestChannel.hasSubscribers) {
      propagation.inject(attemptContext, undefined, { set: (_, name, value) => setHeader(name, value) });
    }
    sendWithin((send) => context.with(attemptContext, send));
  }

  attemptEnded(end: ResponseEvent | FailedEvent): void {
    if (!this.#attempt && !this.#instruments) return;
    const { status, durationMs } = end;
    const outcome = { ...statusAttributes(status), ...("error" in end && errorAttributes(end.error)) };
    this.#attemptError =
      ERROR_TYPE_ATTRIBUTE in outcome ? { [ERROR_TYPE_ATTRIBUTE]: outcome[ERROR_TYPE_ATTRIBUTE] } : {};
    this.#instruments?.attemptDuration.record(msToSeconds(durationMs), { ...this.#attemptAttributes, ...outcome });
    if (status === 429) this.#instruments?.rejections.add(1, this.#attributes);
    if (this.#attempt) endSpanWithOutcome(this.#attempt, outcome);
    this.#attempt = undefined;
  }

  paused({ delayMs }: RateLimitedEvent): void {
    this.#instruments?.pauseDuration.record(msToSeconds(delayMs), this.#attributes);
    this.#span?.addEvent("pause", { "stocklot.pause.duration_ms": delayMs });
  }

  retried({ reason, delayMs }: RetryEvent): void {
    this.#retries += 1;
    this.#instruments?.retries.add(1, { ...this.#attributes, ...this.#attemptError });
    this.#span?.addEvent("retry", { "stocklot.retry.reason": reason, "stocklot.retry.delay_ms": delayMs });
  }

  ended({ status, error, durationMs }: EndEvent): void {
    if (!this.#span && !this.#instruments) return;
    const outcome = { ...(status !== undefined && { [STATUS_CODE_ATTRIBUTE]: status }), ...errorAttributes(error) };
    const attributes = { ...this.#attributes, ...outcome };
    this.#instruments?.callDuration.record(msToSeconds(durationMs), attributes);
    if (this.#isTokenRequest) this.#instruments?.tokenRequests.add(1, attributes);
    if (this.#span) endSpanWithOutcome(this.#span, { ...outcome, ...resendCountAttribute(this.#retries) });
  }

  /** The call sends no further messages. */
  abandon(): void {
    this.#attempt?.end();
    this.#span?.end();
  }

  #startSpan(kind: SpanKind, parent: Context, { method, url }: StartEvent, resends: Attributes = {}): Span {
    const name = [method, this.#attemptAttributes[URL_TEMPLATE_ATTRIBUTE]].join(" ").trim();
    const attributes = { ...this.#attemptAttributes, [URL_FULL_ATTRIBUTE]: url, ...resends };
    return this.#tracer.startSpan(name, { kind, attributes }, parent);
  }
}

function endSpanWithOutcome(span: Span, outcome: Attributes): void {
  span.setAttributes(outcome);
  if (ERROR_TYPE_ATTRIBUTE in outcome) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** How often a request was retried; no attribute for the first attempt. */
const resendCountAttribute = (retries: number): Attributes =>
  retries > 0 ? { [RESEND_COUNT_ATTRIBUTE]: retries } : {};
