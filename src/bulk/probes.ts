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

/** The request that shows whether a list honours `modifiedSince`, and its evaluation. The list must not be empty. */
export const modifiedSinceProbe = {
  params: (now = Date.now()) => ({ modifiedSince: new Date(now + TEN_YEARS_MS).toISOString(), pageSize: 1 }),
  /**
   * Returns what the list does with a `modifiedSince` in the future, by its response:
   * - records: ignored. (`totalCount` proves nothing: it may count the whole list.)
   * - no records: honoured
   * - 400 or 501, which rejects the date or the parameter: ignored
   * - another error: `undefined`, not known
   */
  conclude({ page, error }: ProbeAnswer): "honoured" | "ignored" | undefined {
    if (page) return page.value.length > 0 ? "ignored" : "honoured";
    return error instanceof BadRequestError || error instanceof NotImplementedError ? "ignored" : undefined;
  },
};

/** Determines in one request whether a list that is not empty honours `modifiedSince`. `now`: the service's time. */
export const probeModifiedSince = async (read: (params: ListParams) => Promise<Page<object>>, now?: number) =>
  modifiedSinceProbe.conclude(await answerOf(read(modifiedSinceProbe.params(now))));

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
