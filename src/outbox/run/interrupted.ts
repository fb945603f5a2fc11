import type { StoredEntry } from "../store.js";

/**
 * Why a call for an entry must not send any more. It says nothing about the entry: its write was not refused, and the
 * other entries need not fail. Never reaches the caller.
 */
export abstract class Interrupted extends Error {}

/** The entry or the lease of its lane has changed in the store. */
export class AttemptOutdated extends Interrupted {
  constructor(readonly entry: StoredEntry | undefined) {
    super("the entry or the lease of its lane has changed");
  }
}

/** The lease of the lane has ended, as far as this process knows. */
export class LeaseEnded extends Interrupted {
  constructor(lane: string) {
    super(`the lease of ${lane} has ended`);
  }
}

/** The run has been stopped. Its reason, which may be an error of any class, is kept by the run alone. */
export class RunStopped extends Interrupted {
  constructor() {
    super("the run of the outbox was stopped");
  }
}
