import type { SlotKind } from "../../client/for-add-ons.js";
import type { LedgerRequest } from "./ledger.js";
import type { OutageShare } from "./outage.js";

/** A slot that a request of this process uses or has used. */
export interface HeldSlot {
  readonly kind: SlotKind;
  /** When it is free again; `Infinity` while its request is in flight. */
  freeAt: number;
}

/** The slots that this process holds. Times are those of the process. */
export function createHeldSlots() {
  let slots: HeldSlot[] = [];

  /** Those that are not free again yet; of one kind, or of both. */
  const heldAt = (now: number, kind?: SlotKind): HeldSlot[] =>
    slots.filter((slot) => slot.freeAt > now && (kind === undefined || slot.kind === kind));
  const count = (now: number, kind?: SlotKind): number => heldAt(now, kind).length;

  return {
    count,
    add(kind: SlotKind, now: number): HeldSlot {
      const slot: HeldSlot = { kind, freeAt: Infinity };
      slots = [...heldAt(now), slot];
      return slot;
    },
    /** Whether a request is in flight. */
    get hasRequests(): boolean {
      return slots.some(({ freeAt }) => freeAt === Infinity);
    },
    /** For how many ms each is still held, as the ledger records it. */
    heldForMs(now: number, holdMs: number): LedgerRequest["heldForMs"] {
      const heldForMs = (kind: SlotKind) =>
        heldAt(now, kind).map(({ freeAt }) => Math.min(holdMs, Math.ceil(freeAt - now)));
      return { single: heldForMs("single"), bulk: heldForMs("bulk") };
    },
    /** Whether a call may use a slot of the share. */
    mayTake(share: OutageShare, kind: SlotKind, now: number): boolean {
      return count(now) < share.slots && (kind === "single" || count(now, "bulk") < share.bulk);
    },
    /** The earliest time at which a call can have a slot of the share. */
    earliestStart(share: OutageShare, now: number): number {
      if (count(now) < share.slots) return now;
      return Math.min(now + share.returnMs, ...heldAt(now).map(({ freeAt }) => freeAt));
    },
  };
}

/** How many slots a message to the ledger reports. */
export const countHeldSlots = ({ heldForMs: { single, bulk } }: LedgerRequest) => single.length + bulk.length;
