import { isSorted } from "../client/for-add-ons.js";
import type { ListParams, Page } from "../client/index.js";
import { type DocumentedList, MAX_PAGE_SIZE } from "../service/lists.js";
import { mayRefuseParameter } from "../service/status.js";
import { ApiError, BadRequestError, NotImplementedError } from "../shared/errors/index.js";
import { fieldOf } from "../shared/unknown.js";

const unusualDirection = ({ defaultDirection }: DocumentedList) => (defaultDirection === "ASC" ? "DESC" : "ASC");

/** Are `sort`, `direction` and `pageSize` honoured? */
export const sortProbe = {
  params: (list: DocumentedList) =>
    ({ sort: list.stableSort, direction: unusualDirection(list), pageSize: MAX_PAGE_SIZE }) as const,
  /** Undefined if the page is too short to tell. */
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

/** A list that is not empty is asked for the records that were modified after every change. */
export const modifiedSinceProbe = {
  params: (now = Date.now()) => ({ modifiedSince: new Date(now + TEN_YEARS_MS).toISOString(), pageSize: 1 }),
  /**
   * Returns what the list does with `modifiedSince`; `undefined` if that is not known:
   * - it has records: ignored. (`totalCount` may be that of the whole list.)
   * - it has none: honoured
   * - it rejects the date or the parameter (400, 501): ignored
   * - it fails otherwise: not known
   */
  conclude({ page, error }: ProbeAnswer): "honoured" | "ignored" | undefined {
    if (page) return page.value.length > 0 ? "ignored" : "honoured";
    return error instanceof BadRequestError || error instanceof NotImplementedError ? "ignored" : undefined;
  },
};

/** Determines whether a list that is not empty honours `modifiedSince`, in one request. `now`: the service's time, in ms. */
export const probeModifiedSince = async (read: (params: ListParams) => Promise<Page<object>>, now?: number) =>
  modifiedSinceProbe.conclude(await answerOf(read(modifiedSinceProbe.params(now))));

/** Whether a service that can list its records may fail in this way if it is asked for those since a date. */
export const isRefusalOfDate = (error: unknown): boolean =>
  error instanceof ApiError && mayRefuseParameter(error.status);

/** A page of records since a date, or the refusal. Throws what does not depend on the date. */
export async function answerOf(read: Promise<Page<object>>): Promise<ProbeAnswer> {
  try {
    return { page: await read };
  } catch (error) {
    if (isRefusalOfDate(error)) return { error };
    throw error;
  }
}
