import { type Context, context, type Span, SpanKind, type Tracer, trace } from "@opentelemetry/api";
import type { CallEnd, MethodInfo, MethodObservation } from "../client/for-add-ons.js";
import { isTrue } from "../shared/time/callback.js";
import { clientAttributes, outcomeAttributes } from "./attributes.js";
import { endWith, isPropagated, startSpan } from "./call-span.js";

/** The span of a method that is one call for its caller; the spans of its requests are its children. */
export class MethodSpan implements MethodObservation {
  readonly #context: Context;
  readonly #span: Span;

  private constructor(parent: Context, span: Span) {
    this.#context = trace.setSpan(parent, span);
    this.#span = span;
  }

  /**
   * Starts a span. Returns `undefined` if it is not recorded, and its context does not tell its requests not to be
   * sampled either.
   */
  static start(tracer: Tracer, { name, client }: MethodInfo): MethodSpan | undefined {
    const parent = context.active();
    const options = { kind: SpanKind.INTERNAL, attributes: clientAttributes(client), parent };
    const span = startSpan(tracer, `stocklot.${name}`, options);
    return isTrue(span.isRecording()) || isPropagated(span) ? new MethodSpan(parent, span) : undefined;
  }

  within(run: () => void): void {
    context.with(this.#context, run);
  }

  ended({ error }: CallEnd): void {
    endWith(this.#span, outcomeAttributes(undefined, error));
  }
}
