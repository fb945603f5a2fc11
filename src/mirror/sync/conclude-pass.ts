import type { ListState } from "../copy/status.js";
import type { MirrorReading } from "./list-reader.js";

/*
 * What a full pass proves. A list whose numbers ascended has missed none. The decisive reading is the second one, if there are two:
 *
 *   the decisive reading                                           proves
 *   lists fewer than counted, more of them than in the last pass,  nothing
 *     and records of the copy are absent
 *   lists as many as counted, or its numbers ascended              records and absence
 *   lists the same records as the first one                        records
 *   lists others                                                   nothing
 *
 *   records   `asOf` and `since` are those of the first reading. So is `fullPassAt` if no absent record stays in the copy
 *   absence   what no reading has listed is removed, unless the guard refuses
 *
 * A new list has nothing to lose: what is in its copy was left by a pass that was interrupted.
 */

/** A reading of the whole list. */
export type FullReading = Pick<MirrorReading, "numbers" | "hasAscended" | "unlisted" | "beganAt" | "since">;

/** What was known before a pass. `records`: how many records the copy has. */
export type KnownBefore = Pick<ListState, "asOf" | "unlisted"> & { records: number };

/** A full pass whose list was read to its end. */
export interface FullPass {
  first: FullReading;
  second?: FullReading | undefined;
  /** Numbers of records of the copy that no reading has listed. */
  absent: readonly number[];
}

/** How many removals need no confirmation. */
export interface Guard {
  allowRemovals: boolean;
  maxRemovedShare: number;
}

/** Whether the list has to be read again. `absent`: numbers of records of the copy that the reading has not listed. */
export const isSecondReadingDue = ({ hasAscended, unlisted }: FullReading, absent: readonly number[]): boolean =>
  !hasAscended && (absent.length > 0 || unlisted > 0);

/** The result of a pass: what is saved, and what is removed. */
export function concludePass(pass: FullPass, before: KnownBefore, guard: Guard) {
  const { first, second, absent } = pass;
  const { beganAt, since } = first;
  const { numbers, unlisted } = second ?? first;
  const proof = proofOf(pass, before);
  if (proof === "nothing") return { saved: { unlisted, refused: null }, removed: [] };
  const isRefused = proof === "absence" && before.asOf !== null && isTooMuch(absent.length, before, numbers, guard);
  const removed = proof === "absence" && !isRefused ? absent : [];
  const refused = isRefused ? absent.length : null;
  const isClean = absent.length === removed.length;
  return { saved: { unlisted, refused, asOf: beganAt, since, ...(isClean && { fullPassAt: beganAt }) }, removed };
}

function proofOf({ first, second, absent }: FullPass, before: KnownBefore): "nothing" | "records" | "absence" {
  const { hasAscended, unlisted } = second ?? first;
  const isNew = before.asOf === null;
  if (!isNew && absent.length > 0 && unlisted > (before.unlisted ?? 0)) return "nothing";
  if (unlisted === 0 || hasAscended) return "absence";
  return second && haveSameNumbers(first.numbers, second.numbers) ? "records" : "nothing";
}

const haveSameNumbers = (one: ReadonlySet<number>, other: ReadonlySet<number>) =>
  one.size === other.size && [...one].every((number) => other.has(number));

/** The guard allows this many removals of a list, however large a part of the records they are, unless it is all of them. */
const MAX_UNGUARDED_REMOVALS = 50;

/** The guard: whether this many removals need to be confirmed. */
function isTooMuch(
  removals: number,
  { records }: KnownBefore,
  listed: ReadonlySet<number>,
  { allowRemovals, maxRemovedShare }: Guard,
): boolean {
  if (allowRemovals || removals === 0) return false;
  return listed.size === 0 || (removals > MAX_UNGUARDED_REMOVALS && removals > records * maxRemovedShare);
}
