/** The option's name. It is not in the published types, and the same in the ES module and the CommonJS copy of the package. */
export const attemptJournalSymbol: unique symbol = Symbol.for("stocklot.attemptJournal");

export interface AttemptEnd {
  /** The response, if its head was received; the body is missing if it was cut off. */
  response: { status: number; body: Uint8Array | undefined } | undefined;
  /** The service may have applied the request, and no response proves whether it has. */
  mayHaveBeenApplied: boolean;
}

/**
 * Records the attempts of one call durably, so that another process can determine what happened. The calls of a journal
 * are bulk calls: they do not use the reserved slots.
 */
export interface AttemptJournal {
  /**
   * Awaited when slot and token are there, immediately before the request is sent. If it rejects, nothing is sent, and the
   * call rejects with the same error. `clockAheadMs`: see `ServiceClock`.
   */
  beforeSend(clockAheadMs: number | undefined): Promise<void>;
  /** Called synchronously right before the first byte is sent. If it throws, nothing is sent, as above. */
  assertMaySend(): void;
  /** Called when an attempt has ended, unless `beforeSend` rejected. */
  attemptEnded(end: AttemptEnd): void;
  /** Awaited before the wait for a retry. If it rejects, there is no retry, and the call rejects with the same error. */
  beforeRetry(): Promise<void>;
}
