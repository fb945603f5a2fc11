import type { Answer, CallRequest } from "../core/call.js";
import type { Send } from "../core/pipeline.js";
import { type Query, queryText } from "../core/query.js";
import type { RequestOptions } from "../core/request-options.js";
import { InputValidationError } from "../errors/index.js";
import { checkpointSchema } from "./checkpoint.js";
import type { Allowance } from "./forecast.js";
import { checkListOptions, type ListOptions } from "./list-options.js";
import type { Page, PageRequest } from "./page.js";
import { Paginator } from "./paginator.js";
import type { RecordKey } from "./seen-keys.js";

/** 250 records a page: each page costs one request of the limit. */
const DEFAULT_PAGE_SIZE = 250;
/** So many requests have a part in what one is said to take. */
const SMOOTHED_OVER = 8;

interface PageQuery {
  page?: number | undefined;
  pageSize?: number | undefined;
  sort?: string | undefined;
}

/** A list of the service, as a resource describes it. */
export interface List<T> {
  /** The method that lists, for messages. */
  name: string;
  /** Checks the arguments and gives the request without its page; throws an `InputValidationError`. */
  request(name: string): { path: string; query: Query & PageQuery };
  options: ListOptions;
  answer(request: PageRequest): Answer<Page<T>>;
  maxPageSize: number;
  keyOf: ((record: T) => RecordKey | undefined) | undefined;
  /** A column with unique values that never change, asked for with `gapless` where the caller does not sort. */
  stableSort?: string | undefined;
}

/** The records of a list. */
export function paginatorOf<T>(send: Send, list: List<T>): Paginator<T> {
  const { readAhead, concurrency, gapless, from: given, onProgress, ...requestOptions } = list.options ?? {};
  // A copy, which what the caller does with the checkpoint afterwards does not change; nothing, if it is none.
  const from = given && checkpointSchema().safeParse(given).data;
  let latencyMs = Number.NaN;
  const request = () => {
    checkListOptions(list.name, list.options);
    const { path, query } = list.request(list.name);
    const sort = query.sort ?? (gapless ? list.stableSort : undefined);
    return { path, query: { ...query, sort, page: query.page ?? 1, pageSize: query.pageSize ?? DEFAULT_PAGE_SIZE } };
  };
  return new Paginator<T>({
    prepare: () => {
      const { path, query } = request();
      const name = nameOf(path, query);
      if (from && from.list !== name) {
        const message = `is a checkpoint of another list, ${from.list}; this one is ${name}`;
        throw new InputValidationError(list.name, [{ path: ["from"], message }]);
      }
      return {
        list: name,
        from,
        page: query.page,
        pageSize: query.pageSize,
        maxPageSize: list.maxPageSize,
        readAhead: readAhead ?? 1,
        concurrency: concurrency ?? 1,
        gapless: gapless ?? false,
        onProgress,
        keyOf: list.keyOf,
      };
    },
    fetch: (page, context) => {
      const { path, query } = request();
      const answer = list.answer(page);
      const describe = (): CallRequest<Page<T>> => ({
        method: "GET",
        path,
        query: { ...query, ...page },
        answer: (response, call, check) => {
          const { sendingMs, readingMs } = call.spent;
          const tookMs = (sendingMs + readingMs) / call.attempts;
          latencyMs = Number.isNaN(latencyMs) ? tookMs : latencyMs + (tookMs - latencyMs) / SMOOTHED_OVER;
          return answer(response, call, check);
        },
        priority: context.further ? "low" : "normal",
        bulk: context.further,
      });
      return send(describe, definedOf(requestOptions), context.signal);
    },
    pace: () => ({ latencyMs, ...allowanceOf(send.limiter()) }),
  });
}

/** Path and parameters, whatever their order. */
const nameOf = (path: string, query: Query) => `${path} ${JSON.stringify(Object.entries(queryText(query)).sort())}`;

/** What is left for pages, if all that is in use is pages; a pause is long enough for most slots to come back. */
function allowanceOf({ reserved, snapshot }: ReturnType<Send["limiter"]>): Allowance {
  const { limit, intervalMs, available, pausedUntil } = snapshot();
  const share = limit - reserved;
  return pausedUntil === null
    ? { available: Math.max(0, available - reserved), share, intervalMs, pausedMs: 0 }
    : { available: share, share, intervalMs, pausedMs: Math.max(0, pausedUntil - Date.now()) };
}

/**
 * Tells records by a field. An answer that was not checked may lack it; such a record is given as it comes, since taking
 * it for one that was given before would lose it.
 */
export function keyField(name: string): (record: unknown) => RecordKey | undefined {
  return (record) => {
    const key: unknown = typeof record === "object" && record !== null ? Reflect.get(record, name) : undefined;
    return typeof key === "string" || typeof key === "number" ? key : undefined;
  };
}

/** `undefined` where there is nothing to check or to apply. */
const definedOf = (options: RequestOptions) => (Object.keys(options).length === 0 ? undefined : options);
