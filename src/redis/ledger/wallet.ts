import { randomBytes } from "node:crypto";
import { Hand } from "./hand.js";
import type { Answer, Question } from "./ledger.js";
import type { Share } from "./own-share.js";
import { OwnSlots } from "./own-slots.js";

/** All slots of this process: those in use, and those at hand. Each has an ID that no other process gives. */
export class Wallet {
  /** Tells this process from the others. */
  readonly owner = randomBytes(6).toString("base64url");
  readonly book = new OwnSlots();
  readonly #hand = new Hand();
  #lastNumber = 0;

  /** Numbers for slots that will be asked for; gives the first of them. */
  takeNumbers(count: number): number {
    const first = this.#lastNumber + 1;
    this.#lastNumber += count;
    return first;
  }

  /** Puts down the slots that the ledger has granted; those that cannot be used any more go back. */
  accept({ singles, pages }: Answer, { firstNumber }: Question, areUsable: boolean): void {
    const ids = Array.from({ length: singles + pages }, (_, index) => this.#id(firstNumber + index, index >= singles));
    for (const id of ids) this.book.add(id, { inLedger: true });
    if (areUsable) this.#hand.add(ids);
    else for (const id of ids) this.book.giveBack(id);
  }

  /** A slot that is at hand. */
  take(bulk: boolean): string | undefined {
    return this.#hand.take(bulk);
  }

  /** A slot that the ledger does not know of, within the share of a process that cannot reach it. */
  takeOwn(bulk: boolean, { slots, pages }: Share): string | undefined {
    if (this.book.size >= slots || (bulk && this.book.pages >= pages)) return undefined;
    const id = this.#id(this.takeNumbers(1), bulk);
    this.book.add(id, { inLedger: false });
    return id;
  }

  /** Nobody has taken what is still at hand. */
  giveBackHand(): void {
    for (const id of this.#hand.empty()) this.book.giveBack(id);
  }

  #id(number: number, isPage: boolean): string {
    return `${this.owner}/${number}${isPage ? "p" : ""}`;
  }
}
