import { isPage } from "./own-slots.js";

/** Slots that the ledger has granted and no request has used yet. */
export class Hand {
  #singles: string[] = [];
  #pages: string[] = [];

  add(ids: readonly string[]): void {
    for (const id of ids) (isPage(id) ? this.#pages : this.#singles).push(id);
  }

  /** A slot for a page was granted as one; a single call may use either. */
  take(bulk: boolean): string | undefined {
    return bulk ? this.#pages.shift() : (this.#singles.shift() ?? this.#pages.shift());
  }

  /** All that is left, to be given back. */
  empty(): string[] {
    return [...this.#singles.splice(0), ...this.#pages.splice(0)];
  }
}
