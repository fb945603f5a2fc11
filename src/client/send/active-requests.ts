import { startTimer } from "../../shared/time/clock.js";
import type { Sending } from "./call.js";

/** How often `close()` looks for validations that do not end. */
const STALLED_VALIDATION_INTERVAL_MS = 1_000;

/** What a client is sending, or what waits to be sent: `close()` ends the latter, and lets the former finish. */
export class ActiveRequests {
  isClosed = false;
  readonly #active = new Set<Sending>();
  #resolveIdle = () => {};

  add(sending: Sending): void {
    this.#active.add(sending);
    if (this.isClosed) sending.close();
  }

  delete(sending: Sending): void {
    this.#active.delete(sending);
    if (this.#active.size === 0) this.#resolveIdle();
  }

  /** Resolves when none is left. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const sending of this.#active) sending.close();
    const stopWatching = this.#watchForStalledValidations();
    if (this.#active.size > 0) await new Promise<void>((resolve) => (this.#resolveIdle = resolve));
    stopWatching();
  }

  /** A schema of the caller's may never end: a validation that lasts a whole interval is canceled. */
  #watchForStalledValidations(): () => void {
    let previous = new Set<unknown>();
    let stop = () => {};
    const check = () => {
      for (const { pendingValidation, cancellation } of this.#active)
        if (previous.has(pendingValidation)) cancellation.cancel({ kind: "closed" });
      previous = new Set([...this.#active].flatMap(({ pendingValidation }) => pendingValidation ?? []));
      stop = startTimer(STALLED_VALIDATION_INTERVAL_MS, check);
    };
    check();
    return () => stop();
  }
}
