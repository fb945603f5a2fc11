import { ApiError, OutcomeUnknownError, PermissionError } from "../client/index.js";
import { isRefusal } from "./refusal.js";

/** If this many different items fail in a row with the same status, the items are most likely not the reason. */
const MAX_FAILURES = 5;

/** Counts different items whose writes failed in a row with one status. If the service refuses, only a 403 counts. */
export class FailuresInARow {
  #status: number | undefined;
  readonly #items = new Set<string>();

  /** Adds the result of an item's write: its error, or `undefined`. Returns true if nothing more should be sent. */
  add(item: string, error: unknown): boolean {
    const status = failureStatus(error);
    if (status !== this.#status) this.#items.clear();
    this.#status = status;
    if (status === undefined) return false;
    return this.#items.add(item).size >= MAX_FAILURES;
  }
}

function failureStatus(error: unknown): number | undefined {
  if (error instanceof OutcomeUnknownError) return error.status;
  if (!(error instanceof ApiError)) return undefined;
  return isRefusal(error) && !(error instanceof PermissionError) ? undefined : error.status;
}
