import type { ListState } from "../copy/status.js";
import type { MirrorReading } from "./list-reader.js";

/*
 * Decides what a full pass proves. A reading whose numbers ascended has missed no record. If there are two readings,
 * the second reading is decisive. The first row that fits applies:
 *
 *   the decisive reading                                           proves
 *   leaves more records unlisted than the last pass, and records   nothing
 *     of the copy are absent
 *   lists as many as counted, or its numbers ascended              records and absence
 *   lists the same records as the first reading                    records
 *   lists other records, or is the only reading                    nothing
 *
 *   records   `asOf` and `since` are taken from the first reading; `fullPassAt`, too, if no absent record stays in the copy
 *   absence   records that no reading has listed are removed, unless the guard refuses
 *
 * The first row and the guard do not apply to a new list: its copy contains only records of an interrupted pass.
 */

/** A reading of the whole list. */
export type FullReading = Pick<MirrorReading, "numbers" | "hasAscended" | "unlisted" | "beganAt" | "since">;

/** Facts before a pass. `records`: how many records the copy has. */
export type KnownBefore = Pick<ListState, "asOf" | "unlisted"> & { records: number };

/** A full pass whose list was read to its end. */
export interface FullPass {
  first: FullReading;
  second?: FullReading | undefined;
  /** Numbers of records of the copy that no reading has listed. */
  absent: readonly number[];
}

/** Which removals need no confirmation. */
export interface Guard {
  allowRemovals: boolean;
  maxRemovedShare: number;
}

/** Whether the list has to be read again. `absent`: numbers of records of the copy that the reading has not listed. */
export const isSecondReadingDue = ({ hasAscended, unlisted }: FullReading, absent: readonly number[]): boolean =>
  !hasAscended && (absent.length > 0 || unlisted > 0);

/** Returns the result of a pass: the fields of the state that are saved, and the numbers of the records that are removed. */
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

/** The guard allows this many removals whatever their share of the records is, unless the service lists no record at all. */
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
