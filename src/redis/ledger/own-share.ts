import type { Terms } from "./terms.js";

/** Where it is not known how many there are, as many processes are supposed to share the limit. */
const SUPPOSED_PROCESSES = 10;
/** The part of its share that a process without slots may use at once. */
const FIRST_PART = 1 / 4;

/** What a process knew when it was cut off from the ledger. */
export interface Memory {
  /** Processes that shared the limit; `undefined` when that is not known, or was heard too long ago. */
  members: number | undefined;
  /** Slots that it had then. */
  held: number;
}

/** What a process may have that is cut off from the ledger. */
export interface Share {
  slots: number;
  /** Slots that further pages of iterations may have; at least one, or they could not go on. */
  pages: number;
  /** When a slot comes back after its request has ended, in ms. */
  returnMs: number;
}

/**
 * The share of a process that has to do without the ledger. In the first interval it does with the slots it has, since
 * the others have the rest of them; later, when all of those have come back, with an even part. So while all are cut
 * off, they keep to the limit together; when only some are, the rest may use up the whole limit beside them.
 */
export function ownShare({ members, held }: Memory, sinceMs: number, terms: Terms): Share {
  const { requests, reserved, returnMs } = terms;
  const processes = members ?? SUPPOSED_PROCESSES;
  const even = Math.max(1, Math.floor(requests / processes));
  const atFirst = Math.max(1, Math.floor(even * FIRST_PART), Math.min(held, even));
  const isLater = members === undefined || members === 1 || sinceMs > returnMs;
  // More processes than slots: each has one, and it comes back more slowly.
  const stretch = members === undefined ? 1 : Math.max(1, processes / requests);
  const slots = isLater ? even : atFirst;
  const pages = Math.max(1, slots - Math.ceil((slots * reserved) / requests));
  return { slots, pages, returnMs: returnMs * stretch };
}
