/** What a run did, and what is left. The five numbers of entries do not overlap. */
export interface OutboxReport {
  /** Entries that became `applied` in this run. */
  applied: number;
  /** Entries that became `rejected` in this run. */
  rejected: number;
  /** Entries of the outbox that are `unknown`: a person has to decide, see `outbox.resolve`. */
  unknown: number;
  /** Entries that are still to be sent, without those held back. The next run tries them again. */
  pending: number;
  /** Entries that wait behind an `unknown` one of the same item. */
  heldBack: number;
  /** Requests sent in this run, retries and look-ups included, token requests excluded. */
  requests: number;
  /** Time taken, in ms. */
  durationMs: number;
}

/** How far a run is. */
export interface OutboxProgress {
  /** Entries that became `applied` in this run. */
  applied: number;
  /** Entries that became `rejected` in this run. */
  rejected: number;
  /** Entries that became `unknown` in this run. */
  unknown: number;
  /** Entries that are still to be sent, without those held back. */
  pending: number;
  /** The probable time until they are sent, in ms. */
  etaMs: number;
}

/** What the next run is likely to take. */
export interface OutboxEstimate {
  /** Entries to be sent. */
  entries: number;
  /** Requests for them. */
  requests: number;
  /** The probable duration, in ms. */
  durationMs: number;
}
