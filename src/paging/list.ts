import type { Answer } from "../core/call.js";
import type { Send } from "../core/pipeline.js";
import type { Query } from "../core/query.js";
import type { RequestOptions } from "../core/request-options.js";
import type { ListOptions } from "./list-options.js";
import type { Page, PageRequest, RecordKey } from "./page.js";
import { Paginator } from "./paginator.js";

/** 250 records a page: each page costs one request of the limit. */
const DEFAULT_PAGE_SIZE = 250;

interface PageQuery {
  page?: number | undefined;
  pageSize?: number | undefined;
  sort?: string | undefined;
}

/** A list of the service, as a resource describes it. */
export interface List<T> {
  /** Checks the arguments and gives the request without its page; throws an `InputValidationError`. */
  request(): { path: string; query: Query & PageQuery };
  options: ListOptions;
  answer(request: PageRequest): Answer<Page<T>>;
  maxPageSize: number;
  keyOf: ((record: T) => RecordKey | undefined) | undefined;
  /** A column with unique values that never change, asked for with `gapless` where the caller does not sort. */
  stableSort?: string | undefined;
}

/** The records of a list. */
export function paginatorOf<T>(send: Send, list: List<T>): Paginator<T> {
  const { readAhead, concurrency, gapless, onProgress, ...requestOptions } = list.options ?? {};
  return new Paginator<T>({
    prepare: () => {
      const { query } = list.request();
      return {
        page: query.page ?? 1,
        pageSize: query.pageSize ?? DEFAULT_PAGE_SIZE,
        maxPageSize: list.maxPageSize,
        readAhead: readAhead ?? 1,
        concurrency: concurrency ?? 1,
        gapless: gapless ?? false,
        onProgress,
        keyOf: list.keyOf,
      };
    },
    fetch: (page, context) => {
      const { path, query } = list.request();
      const sort = query.sort ?? (context.gapless ? list.stableSort : undefined);
      return send(
        {
          method: "GET",
          path,
          query: { ...query, sort, page: page.page, pageSize: page.pageSize },
          answer: list.answer(page),
          repeatable: true,
          priority: context.further ? "low" : "normal",
          bulk: context.further,
        },
        definedOf(requestOptions),
        context.signal,
      );
    },
  });
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
