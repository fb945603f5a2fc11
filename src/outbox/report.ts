/** What a run did, and what is left. No entry is in two of the five counts. */
export interface OutboxReport {
  /** Entries that became `applied` in this run. */
  applied: number;
  /** Entries that became `rejected` in this run. */
  rejected: number;
  /** Entries of the outbox that are `unknown`. A person must decide about them, see `outbox.resolve`. */
  unknown: number;
  /** Entries that are still to be sent, without those held back. The next run sends them. */
  pending: number;
  /** Entries that wait behind an `unknown` one of the same item. */
  heldBack: number;
  /** Requests sent in this run, retries and look-ups included, token requests excluded. */
  requests: number;
  /** Time taken, in ms. */
  durationMs: number;
}

/** Number of entries by state, pruned ones included. */
export interface OutboxSummary {
  /** Entries to be sent, those held back included. */
  pending: number;
  /** Entries with an attempt whose outcome is not stored yet. */
  sending: number;
  /** Entries that were applied. */
  applied: number;
  /** Entries that the service refused. */
  rejected: number;
  /** Entries about which a person must decide, see `outbox.resolve`. */
  unknown: number;
  /** Entries that were dropped, see `outbox.cancel`. */
  canceled: number;
  /** How long ago the oldest entry was added that is pending, sending or unknown, in ms; `null` if there is none. */
  oldestUnsettledMs: number | null;
}

/** The progress of a run. */
export interface OutboxProgress extends Pick<OutboxReport, "applied" | "rejected" | "pending"> {
  /** Entries that became `unknown` in this run. */
  unknown: number;
  /** Estimated time until the pending entries are sent, in ms. */
  etaMs: number;
}

/** Estimated cost of the next run. */
export interface OutboxEstimate {
  /** Entries to be sent. */
  entries: number;
  /** Requests for them. */
  requests: number;
  /** Estimated duration, in ms. */
  durationMs: number;
}
