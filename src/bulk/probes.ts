import { isSorted } from "../client/for-add-ons.js";
import type { ListParams, Page } from "../client/index.js";
import { type DocumentedList, MAX_PAGE_SIZE } from "../service/lists.js";
import { mayRefuseParameter } from "../service/status.js";
import { ApiError, BadRequestError, NotImplementedError } from "../shared/errors/index.js";
import { fieldOf } from "../shared/unknown.js";

const unusualDirection = ({ defaultDirection }: DocumentedList) => (defaultDirection === "ASC" ? "DESC" : "ASC");

/** The request that shows whether a list honours `sort` and `direction`, and its evaluation. */
export const sortProbe = {
  params: (list: DocumentedList) =>
    ({ sort: list.stableSort, direction: unusualDirection(list), pageSize: MAX_PAGE_SIZE }) as const,
  /** Returns `undefined` if the page is too short to tell. */
  isHonoured: ({ value }: Pick<Page<object>, "value">, list: DocumentedList) =>
    isSorted(
      value.map((record) => fieldOf(record, list.stableSort)),
      unusualDirection(list),
    ),
};

/** More than clocks can differ, but still a date that a database can store. */
const TEN_YEARS_MS = 10 * 365 * 24 * 60 * 60 * 1000;

/** The response of a list to `modifiedSince`. */
interface ProbeAnswer {
  page?: Page<object>;
  error?: unknown;
}

/**
 * The requests that show whether a list honours `modifiedSince`, and their evaluation. The second request is only necessary
 * if the first one returns no records: a service that answers every date with an empty list honours none.
 */
export const modifiedSinceProbe = {
  params: (now = Date.now()) => ({ modifiedSince: new Date(now + TEN_YEARS_MS).toISOString(), pageSize: 1 }),
  everParams: { modifiedSince: new Date(0).toISOString(), pageSize: 1 },
  /**
   * Returns what the list does with a `modifiedSince`, by its responses to a date in the future and to 1970:
   * - future: records → `ignored`. (`totalCount` proves nothing: it may count the whole list.)
   * - future: 400 or 501, which rejects the date or the parameter → `ignored`
   * - future: no records; 1970: records → `honoured`
   * - future: no records; 1970: no records → `always-empty`, or the list is empty
   * - any other error → `undefined`, not known
   */
  conclude({ page, error }: ProbeAnswer, ever?: ProbeAnswer): "honoured" | "ignored" | "always-empty" | undefined {
    if (!page) return error instanceof BadRequestError || error instanceof NotImplementedError ? "ignored" : undefined;
    if (page.value.length > 0) return "ignored";
    return ever?.page && (ever.page.value.length > 0 ? "honoured" : "always-empty");
  },
};

/** Sends the one or two requests of the probe, and returns the answers to them. `now`: the service's time. */
export async function askModifiedSince<A extends ProbeAnswer>(ask: (params: ListParams) => Promise<A>, now?: number) {
  const future = await ask(modifiedSinceProbe.params(now));
  const isEmpty = future.page?.value.length === 0;
  return { future, ever: isEmpty ? await ask(modifiedSinceProbe.everParams) : undefined };
}

/** Determines in at most two requests whether a list honours `modifiedSince`. `now`: the service's time. */
export async function probeModifiedSince(read: (params: ListParams) => Promise<Page<object>>, now?: number) {
  const { future, ever } = await askModifiedSince((params) => answerOf(read(params)), now);
  return modifiedSinceProbe.conclude(future, ever);
}

/** Whether the error may be a refusal of `modifiedSince` by a service that can otherwise list its records. */
export const isRefusalOfDate = (error: unknown): boolean =>
  error instanceof ApiError && mayRefuseParameter(error.status);

/** Returns the page of a request with `modifiedSince`, or the error if it may be a refusal. Throws other errors. */
export async function answerOf(read: Promise<Page<object>>): Promise<ProbeAnswer> {
  try {
    return { page: await read };
  } catch (error) {
    if (isRefusalOfDate(error)) return { error };
    throw error;
  }
}
