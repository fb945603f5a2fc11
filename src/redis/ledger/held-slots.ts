import type { SlotKind } from "../../limiter/slot-source.js";
import type { LedgerRequest } from "./ledger.js";
import type { FallbackQuota } from "./outage.js";

/** A slot that a request of this process uses or has used. */
export interface HeldSlot {
  readonly kind: SlotKind;
  /** When it is free again; `Infinity` while its request is in flight. */
  freeAt: number;
}

/** The slots that this process holds. Times are those of the process. */
export class HeldSlots {
  #slots: HeldSlot[] = [];

  add(kind: SlotKind): HeldSlot {
    const slot: HeldSlot = { kind, freeAt: Infinity };
    this.#slots.push(slot);
    return slot;
  }

  /** How many are not free again yet; of one kind, or of both. */
  count(now: number, kind?: SlotKind): number {
    this.#slots = this.#slots.filter(({ freeAt }) => freeAt > now);
    return kind ? this.#slots.filter((slot) => slot.kind === kind).length : this.#slots.length;
  }

  /** Whether a request is in flight. */
  get hasRequests(): boolean {
    return this.#slots.some(({ freeAt }) => freeAt === Infinity);
  }

  /** In how many ms each is free again, as the ledger records it. */
  report(now: number, holdMs: number): LedgerRequest["held"] {
    const delays = (kind: SlotKind) =>
      this.#slots
        .filter((slot) => slot.kind === kind && slot.freeAt > now)
        .map(({ freeAt }) => Math.min(holdMs, Math.ceil(freeAt - now)));
    return { single: delays("single"), bulk: delays("bulk") };
  }

  /** Whether a call may use a slot of the fallback. */
  isBelow({ slots, bulk }: FallbackQuota, isBulk: boolean, now: number): boolean {
    return this.count(now) < slots && !(isBulk && this.count(now, "bulk") >= bulk);
  }

  /** The earliest time at which a call can have a slot of the fallback. */
  earliestStart({ slots, returnMs }: FallbackQuota, now: number): number {
    if (this.count(now) < slots) return now;
    return Math.min(now + returnMs, ...this.#slots.map(({ freeAt }) => freeAt));
  }
}

/** How many slots a message to the ledger reports. */
export const countHeldSlots = ({ held }: LedgerRequest) => held.single.length + held.bulk.length;
