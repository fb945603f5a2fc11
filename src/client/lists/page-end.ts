import { isLastingStatus } from "../../service/status.js";
import { ApiError, AuthenticationError, PaginationError } from "../../shared/errors/index.js";
import { isServiceError } from "../../shared/errors/service-error.js";
import { endOfPage, type Page, type PageRequest } from "./page.js";

/**
 * Judges what a page says about the end of its list, by its own statements alone:
 *
 *   more       another page follows
 *   end        no page follows, and the page ends at the position that `totalCount` states
 *   short      no page follows, but `totalCount` is larger than the position at which the page ends
 *   uncounted  no page follows, but `totalCount` is smaller than the position at which the page ends
 *
 * Only `end` proves that the list has no further records.
 */
export function endOf(page: Page<unknown>): "more" | "end" | "short" | "uncounted" {
  if (page.hasMore) return "more";
  if (!isCountPossible(page)) return "uncounted";
  return page.totalCount > endOfPage(page) ? "short" : "end";
}

/** Whether `totalCount` is at least the position at which the page ends. A smaller count proves nothing. */
export const isCountPossible = (page: Page<unknown>): boolean =>
  page.value.length === 0 ? page.totalCount >= 0 : page.totalCount >= endOfPage(page);

/**
 * Checks the number of a page. The service may apply a smaller page size than was requested, but no other number.
 *
 * @throws PaginationError if the page has another number.
 */
export function assertRequestedPage(label: string, page: Page<unknown>, request: PageRequest): void {
  if (page.page === request.page) return;
  throw new PaginationError(
    `${label}: the response to a request for page ${request.page} says that it is page ${page.page}. Report it to the provider of the service.`,
  );
}

/**
 * Whether a service may respond with this error, instead of an empty page, if there is no further page. The page of a
 * proxy proves no end.
 */
export const isRefusalOfPage = (error: unknown): boolean =>
  error instanceof PaginationError ||
  (error instanceof ApiError &&
    isServiceError(error) &&
    !(error instanceof AuthenticationError) &&
    isLastingStatus(error.status));
