/** Draws traces as trees, each span with its time within its root. */
import { type HrTime, SpanStatusCode } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-node";
import { style } from "../terminal.js";

const NAME_WIDTH = 44;
const BAR_WIDTH = 30;

const msOf = ([seconds, nanoseconds]: HrTime) => seconds * 1_000 + nanoseconds / 1e6;

/** The lines of all traces, in order of start. */
export function traceTree(spans: readonly ReadableSpan[]): string[] {
  const known = new Set(spans.map((span) => span.spanContext().spanId));
  const inOrder = [...spans].sort((one, other) => msOf(one.startTime) - msOf(other.startTime));
  const childrenOf = (parent: ReadableSpan) =>
    inOrder.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent.spanContext().spanId);

  return inOrder
    .filter(({ parentSpanContext }) => !parentSpanContext || !known.has(parentSpanContext.spanId))
    .flatMap((root) => linesOf(root, root, "", ""));

  function linesOf(span: ReadableSpan, root: ReadableSpan, branch: string, trunk: string): string[] {
    const children = childrenOf(span);
    const below = children.length > 0 ? "│" : " ";
    return [
      spanLine(span, root, branch),
      ...span.events.map(({ name, time, attributes = {} }) => {
        const at = `+${Math.round(msOf(time) - msOf(span.startTime))} ms`;
        return style("dim", `${trunk}${below}   ${at.padStart(8)}  ${name} ${valuesOf(attributes)}`.trimEnd());
      }),
      ...children.flatMap((child, index) => {
        const last = index === children.length - 1;
        return linesOf(child, root, `${trunk}${last ? "└─ " : "├─ "}`, `${trunk}${last ? "   " : "│  "}`);
      }),
    ];
  }
}

function spanLine(span: ReadableSpan, root: ReadableSpan, branch: string): string {
  const failed = span.status.code === SpanStatusCode.ERROR;
  const { "http.response.status_code": status, "error.type": error } = span.attributes;
  // The error type of a request is its status.
  const outcome = [...new Set([status, error].filter((part) => part !== undefined).map(String))].join(" ");
  const duration = `${Math.round(msOf(span.duration))} ms`.padStart(8);
  const name = `${branch}${span.name}`.padEnd(NAME_WIDTH);
  return `${name} ${barOf(span, root)} ${duration}  ${style(failed ? "red" : "green", outcome)}`.trimEnd();
}

/** A bar for the time of a span within its root. */
function barOf(span: ReadableSpan, root: ReadableSpan): string {
  const scale = BAR_WIDTH / msOf(root.duration);
  const from = Math.min(BAR_WIDTH - 1, Math.floor((msOf(span.startTime) - msOf(root.startTime)) * scale));
  const width = Math.max(1, Math.min(BAR_WIDTH - from, Math.round(msOf(span.duration) * scale)));
  return style("cyan", `${" ".repeat(from)}${"█".repeat(width)}`.padEnd(BAR_WIDTH));
}

const valuesOf = (attributes: object) =>
  Object.entries(attributes)
    .map(([name, value]) => `${name.replace(/^.*\./, "")}=${typeof value === "number" ? Math.round(value) : value}`)
    .join(" ");
