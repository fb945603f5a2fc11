import { BadRequestError, NotImplementedError, ServerError } from "../../errors/index.js";
import type { ResourceState } from "../state.js";

type ModifiedSinceSupport = ResourceState["modifiedSince"];

/** Beyond any difference of clocks, and no date that a database cannot hold. */
const TEN_YEARS_MS = 10 * 365 * 24 * 60 * 60 * 1000;

/** What is asked of a list: how many records there are, all or those modified since a moment. */
export interface RecordCounter {
  count(modifiedSince?: Date): Promise<number>;
}

/**
 * Finds out whether a list of so many records honours `modifiedSince`: it does if nothing was modified after `now` and ten
 * years, and everything since 1970. An empty list tells nothing, nor does one that fails at such dates.
 */
export async function probeModifiedSince(
  list: RecordCounter,
  total: number,
  now: number,
): Promise<ModifiedSinceSupport> {
  if (total === 0) return undefined;
  try {
    if ((await list.count(new Date(now + TEN_YEARS_MS))) > 0) return "ignored";
    return (await list.count(new Date(0))) >= total ? "honoured" : undefined;
  } catch (error) {
    if (error instanceof BadRequestError || error instanceof NotImplementedError) return "ignored";
    if (error instanceof ServerError) return undefined;
    throw error;
  }
}

/** True if there is a promise to be held against what was seen, or one that was broken and is given another chance. */
export function shouldVerify(support: ModifiedSinceSupport, anew: boolean): boolean {
  return support === "honoured" || support === "doubted" || (anew && support === "incomplete");
}

/**
 * The support after an increment that should have listed what a full pass found changed, and did or did not. A record that is
 * removed in between is missing for a good reason, so it takes two misses running to give increments up.
 */
export function supportAfterCheck(support: ModifiedSinceSupport, complete: boolean): ModifiedSinceSupport {
  if (complete) return "honoured";
  return support === "honoured" ? "doubted" : "incomplete";
}
