import { ApiError } from "../../errors/index.js";
import type { StoredEntry } from "../store.js";

/** After this many items in a row whose entries fail with the same status, the reason is most likely not in the entries. */
const MAX_FAILED_ITEMS = 5;

/** Notices that entry after entry fails in the same way. */
export class FailuresInARow {
  readonly #fail: (error: unknown) => void;
  readonly #lanes = new Set<string>();
  #status: number | undefined;
  #hasFailed = false;

  /** @param fail ends the run */
  constructor(fail: (error: unknown) => void) {
    this.#fail = fail;
  }

  /** An entry has failed with this error. `undefined` ends the row: its call has ended in any other way. */
  record({ key, lane }: StoredEntry, error: unknown): void {
    const status = error instanceof ApiError ? error.status : undefined;
    if (status !== this.#status) this.#lanes.clear();
    this.#status = status;
    if (!(error instanceof ApiError)) return;
    this.#lanes.add(lane);
    if (this.#lanes.size !== MAX_FAILED_ITEMS || this.#hasFailed) return;
    this.#hasFailed = true;
    error.message = `${error.message.replace(/\.?$/, ".")} It failed for ${MAX_FAILED_ITEMS} items in a row, last for the entry "${key}".`;
    this.#fail(error);
  }
}
