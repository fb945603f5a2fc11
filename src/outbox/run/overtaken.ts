import type { StoredEntry } from "../store.js";

/**
 * Thrown if an attempt must not be sent, since what it relies on has changed: only the work on its lane ends. Never
 * reaches the caller.
 */
export abstract class Overtaken extends Error {}

/** The entry or the lease of its lane has changed in the store. */
export class AttemptOutdated extends Overtaken {
  constructor(readonly entry: StoredEntry | undefined) {
    super("the entry or the lease of its lane has changed");
  }
}

/** The lease of the lane has ended, as far as this process knows. */
export class LeaseEnded extends Overtaken {
  constructor(lane: string) {
    super(`the lease of ${lane} has ended`);
  }
}
