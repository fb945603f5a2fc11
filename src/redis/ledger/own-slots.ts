/** How long a slot stays in use, for the ledger to note; 0 for a slot that is free again. */
export interface Update {
  id: string;
  ms: number;
}

/** When the slot comes back; `undefined` while its request is under way. */
type ReturnTime = number | undefined;

/** The slots that this process has: those of requests under way, and those that have not come back yet. */
export class OwnSlots {
  readonly #slots = new Map<string, ReturnTime>();
  /** Slots that the ledger has to hear of. */
  #news = new Set<string>();
  #underWay = 0;
  #pages = 0;

  /** `inLedger`: the ledger gave it, so it knows of it. */
  add(id: string, { inLedger }: { inLedger: boolean }): void {
    this.#slots.set(id, undefined);
    this.#underWay += 1;
    if (isPage(id)) this.#pages += 1;
    if (!inLedger) this.#news.add(id);
  }

  /** The request of the slot has ended. */
  release(id: string, returnAt: number): void {
    if (!this.#slots.has(id)) return;
    // At the end of the map, which so is in the order of return.
    this.#slots.delete(id);
    this.#slots.set(id, returnAt);
    this.#underWay -= 1;
    this.#news.add(id);
  }

  /** The slot was not used. */
  giveBack(id: string): void {
    if (!this.#slots.delete(id)) return;
    this.#underWay -= 1;
    if (isPage(id)) this.#pages -= 1;
    this.#news.add(id);
  }

  /** Forgets what has come back. */
  settle(now: number): void {
    for (const [id, returnAt] of this.#slots) {
      if (returnAt === undefined) continue;
      if (returnAt > now) return;
      this.#slots.delete(id);
      if (isPage(id)) this.#pages -= 1;
    }
  }

  /** Slots of requests under way, and those granted that no request has yet. */
  get underWay(): number {
    return this.#underWay;
  }

  get size(): number {
    return this.#slots.size;
  }

  get pages(): number {
    return this.#pages;
  }

  /** When the next slot comes back. */
  get nextReturn(): number | undefined {
    for (const returnAt of this.#slots.values()) if (returnAt !== undefined) return returnAt;
    return undefined;
  }

  get hasNews(): boolean {
    return this.#news.size > 0;
  }

  /** The ledger has to hear of the slots under way again, as it forgets what it does not hear of. */
  renew(): void {
    for (const [id, returnAt] of this.#slots) if (returnAt === undefined) this.#news.add(id);
  }

  /** The ledger has to hear of all slots. */
  tellAll(): void {
    for (const id of this.#slots.keys()) this.#news.add(id);
  }

  /** What the ledger has to hear, from now on taken as told. */
  takeNews(now: number, leaseMs: number): Update[] {
    const updates = [...this.#news].map((id) => {
      if (!this.#slots.has(id)) return { id, ms: 0 };
      const returnAt = this.#slots.get(id);
      return { id, ms: returnAt === undefined ? leaseMs : Math.max(0, returnAt - now) };
    });
    this.#news = new Set();
    return updates;
  }

  /** The ledger may not have heard it. */
  putBack(updates: readonly Update[]): void {
    for (const { id } of updates) this.#news.add(id);
  }
}

export const isPage = (id: string) => id.endsWith("p");
