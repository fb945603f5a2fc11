import { comparableSku } from "../../service/key.js";
import { setNewest } from "../../shared/bounded-map.js";

const MAX_ITEMS = 10_000;

/**
 * Records when the writes of a client begin and end. A read that was sent before a write may show the state before the write.
 * So no call joins such a read, and an earlier search result for the item is not used any more.
 */
export class WriteLog {
  /** Counts the begin and the end of each write. */
  epoch = 0;
  /** Writes that `hasWritten` has yet to sort into `#epochByItem`. Most clients never call `hasWritten`. */
  readonly #noted: { shortID: string; epoch: number }[] = [];
  readonly #epochByItem = new Map<string, number>();
  /** The latest epoch of a write whose item is not known, or of an item that `#epochByItem` no longer contains. */
  #epochOfAny = 0;

  /** Notes that a write begins or ends. Without a SKU, the write may concern any item. */
  note(shortID: string | undefined): void {
    this.epoch += 1;
    if (shortID === undefined) this.#epochOfAny = this.epoch;
    else if (this.#noted.push({ shortID, epoch: this.epoch }) >= MAX_ITEMS) this.#sortIn();
  }

  #sortIn(): void {
    for (const { shortID, epoch } of this.#noted.splice(0)) {
      const [oldest = 0] = this.#epochByItem.size >= MAX_ITEMS ? this.#epochByItem.values() : [];
      this.#epochOfAny = Math.max(this.#epochOfAny, oldest);
      setNewest(this.#epochByItem, comparableSku(shortID), epoch, MAX_ITEMS);
    }
  }

  /** Whether a write that may concern the item has begun or ended since the epoch `since`. */
  hasWritten(shortID: string, since: number): boolean {
    this.#sortIn();
    return Math.max(this.#epochOfAny, this.#epochByItem.get(comparableSku(shortID)) ?? 0) > since;
  }
}
