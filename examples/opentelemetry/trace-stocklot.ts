/** Creates OpenTelemetry spans from stocklot's diagnostics channels. Copy this file into your program. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { type Attributes, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_REQUEST_RESEND_COUNT,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  ATTR_URL_FULL,
} from "@opentelemetry/semantic-conventions";
import { type DiagnosticsMessages, type EndEvent, type StartEvent, VERSION } from "stocklot";
import { urlTemplate } from "./url-template.js";

/** The conventions still mark it as in development, so it is copied, not imported. */
const ATTR_URL_TEMPLATE = "url.template";

const CHANNELS = ["stocklot:request", "stocklot:retry", "stocklot:rate-limit"] as const;
type Message = DiagnosticsMessages[(typeof CHANNELS)[number]];

/**
 * From now on each call of every client of the process is a span of kind CLIENT: a child of the span that is active when
 * the call is made, with its attempts, responses, retries and pauses as events. A span begins with its call. So the time
 * before its first `request` event is the time that the call waited for a token and a slot.
 *
 * @returns a function that stops it and ends the spans of calls in flight.
 */
export function traceStocklot(tracer: Tracer = trace.getTracer("stocklot", VERSION)): () => void {
  const spans = new Map<number, Span>();
  // stocklot guarantees the type; node:diagnostics_channel does not type its messages.
  const listener = (message: unknown) => record(message as Message);
  for (const channel of CHANNELS) subscribe(channel, listener);
  return () => {
    for (const channel of CHANNELS) unsubscribe(channel, listener);
    for (const span of spans.values()) span.end();
    spans.clear();
  };

  function record(message: Message): void {
    const { call } = message;
    if (message.type === "start") {
      spans.set(call, startSpan(tracer, message));
      return;
    }
    const span = spans.get(call);
    // A call that began before the subscription has no span.
    if (!span) return;
    if (message.type === "end") {
      spans.delete(call);
      endSpan(span, message);
    } else span.addEvent(...eventOf(message));
  }
}

function startSpan(tracer: Tracer, { method, path, url }: StartEvent): Span {
  const { hostname, port, protocol, pathname } = new URL(url);
  const template = urlTemplate(path);
  // Relative to the server, as the conventions require; `path` is relative to the base URL.
  const target = template && pathname.slice(0, -path.length) + template;
  return tracer.startSpan(target ? `${method} ${target}` : method, {
    kind: SpanKind.CLIENT,
    attributes: {
      [ATTR_HTTP_REQUEST_METHOD]: method,
      [ATTR_URL_FULL]: url,
      [ATTR_SERVER_ADDRESS]: hostname,
      [ATTR_SERVER_PORT]: Number(port) || (protocol === "https:" ? 443 : 80),
      ...(target && { [ATTR_URL_TEMPLATE]: target }),
    },
  });
}

function eventOf(message: Exclude<Message, { type: "start" | "end" }>): [name: string, attributes: Attributes] {
  switch (message.type) {
    case "request":
      return ["request", resends(message.attempt)];
    case "response":
      return ["response", { [ATTR_HTTP_RESPONSE_STATUS_CODE]: message.status }];
    case "retry":
      return ["retry", { "stocklot.retry.reason": message.reason, "stocklot.retry.delay_ms": message.delayMs }];
    case "rateLimited":
      return ["pause", { "stocklot.pause.duration_ms": message.delayMs }];
  }
}

function endSpan(span: Span, { attempts, status, error }: EndEvent): void {
  span.setAttributes(resends(attempts));
  if (status !== undefined) span.setAttribute(ATTR_HTTP_RESPONSE_STATUS_CODE, status);
  if (error !== undefined) {
    span.setAttribute(ATTR_ERROR_TYPE, error);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

/** How often a call was retried; no attribute for the first attempt. */
const resends = (attempts: number): Attributes =>
  attempts > 1 ? { [ATTR_HTTP_REQUEST_RESEND_COUNT]: attempts - 1 } : {};
