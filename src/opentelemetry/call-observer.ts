import type { Tracer } from "@opentelemetry/api";
import type { DiagnosticsMessages } from "../core/telemetry/events.js";
import type { CallInstruments } from "./instruments.js";
import { ObservedCall } from "./observed-call.js";

type CallMessage = DiagnosticsMessages[
  | "stocklot:request"
  | "stocklot:attempt"
  | "stocklot:retry"
  | "stocklot:rate-limit"
  | "stocklot:slot"];

/** Finds the call that a message is about. */
export class CallObserver {
  /** The calls in flight, by number. One that began before the subscription is not among them. */
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
