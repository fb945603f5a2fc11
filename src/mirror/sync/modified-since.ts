import { BadRequestError, NotImplementedError, ServerError } from "../../errors/index.js";
import type { ListState } from "../copy/state.js";

/** Whether a list honours `modifiedSince`, as far as it is known. */
type ModifiedSinceSupport = ListState["modifiedSince"];

/** More than clocks can differ, but still a date that a database can store. */
const TEN_YEARS_MS = 10 * 365 * 24 * 60 * 60 * 1000;

/** A date after which no record was modified: a list that has records for it ignores `modifiedSince`. */
export const afterEveryChange = (now: number): Date => new Date(now + TEN_YEARS_MS);

/** A list that can be counted: all records, or those modified since a moment. */
export interface RecordCounter {
  count(modifiedSince?: Date): Promise<number>;
}

/**
 * Determines whether a list of `total` records honours `modifiedSince`. It does if it reports no records modified after
 * the next ten years, and all records modified since 1970. An empty list proves nothing, and neither does a list that
 * fails for such dates.
 */
export async function probeModifiedSince(
  list: RecordCounter,
  total: number,
  now: number,
): Promise<ModifiedSinceSupport> {
  if (total === 0) return undefined;
  try {
    if ((await list.count(afterEveryChange(now))) > 0) return "ignored";
    return (await list.count(new Date(0))) >= total ? "honoured" : undefined;
  } catch (error) {
    if (error instanceof BadRequestError || error instanceof NotImplementedError) return "ignored";
    if (error instanceof ServerError) return undefined;
    throw error;
  }
}

/**
 * True if increments are used or in doubt, so that they must be checked, or if they were abandoned and must be tried
 * `again`.
 */
export function shouldVerifyModifiedSince(support: ModifiedSinceSupport, again: boolean): boolean {
  return support === "honoured" || support === "doubted" || (again && support === "incomplete");
}

/**
 * The support after a check. A record that is removed between full pass and increment is rightly missing, so increments
 * are abandoned only after the second failed check in a row.
 */
export function modifiedSinceSupportAfterCheck(
  support: ModifiedSinceSupport,
  listsAllChanges: boolean,
): ModifiedSinceSupport {
  if (listsAllChanges) return "honoured";
  return support === "honoured" ? "doubted" : "incomplete";
}
