import { BadRequestError, NotImplementedError, ServerError } from "../shared/errors/index.js";

/** More than clocks can differ, but still a date that a database can store. */
const TEN_YEARS_MS = 10 * 365 * 24 * 60 * 60 * 1000;

/** A date after which no record was modified: a list that has records for it ignores `modifiedSince`. */
export const afterEveryChange = (now: number): Date => new Date(now + TEN_YEARS_MS);

/**
 * Determines whether a list of `total` records honours `modifiedSince`, by counting its records. It does if it reports no records modified after
 * the next ten years, and all records modified since 1970. An empty list proves nothing, and neither does a list that
 * fails for such dates.
 */
export async function probeModifiedSince(
  count: (modifiedSince: Date) => Promise<number>,
  total: number,
  now: number,
): Promise<"honoured" | "ignored" | undefined> {
  if (total === 0) return undefined;
  try {
    if ((await count(afterEveryChange(now))) > 0) return "ignored";
    return (await count(new Date(0))) >= total ? "honoured" : undefined;
  } catch (error) {
    if (error instanceof BadRequestError || error instanceof NotImplementedError) return "ignored";
    if (error instanceof ServerError) return undefined;
    throw error;
  }
}
