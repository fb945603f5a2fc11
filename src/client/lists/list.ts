import * as z from "zod";
import type { ListParams } from "../../service/list-params.js";
import { MAX_PAGE_SIZE } from "../../service/lists.js";
import { InputValidationError, StocklotError } from "../../shared/errors/index.js";
import { checkInput, integer, type LazySchema, lazy } from "../../shared/schema.js";
import { fieldOf } from "../../shared/unknown.js";
import type { ApiRequest, ResponseContext, ResponseReader } from "../send/call.js";
import { encodeRequest, type Query } from "../send/payload.js";
import { type RequestOptions, requestOptionsShape } from "../send/request-options.js";
import type { Requester } from "../send/requester.js";
import { ListReader } from "./list-reader.js";
import {
  type Page,
  type PageRequest,
  type PageSession,
  type PagingOptions,
  type RecordKey,
  sizeWithOverlap,
} from "./page.js";
import { Paginator } from "./paginator.js";
import { isSorted } from "./sorted.js";

type PageQueryParams = Pick<ListParams, "page" | "pageSize" | "sort" | "direction">;

/** A list of the service, described by its resource. */
export interface ListDefinition<T, Params> {
  /** Name of the method, for messages. */
  name: string;
  params: Params;
  /** The schema of the parameters. */
  schema: LazySchema<z.ZodObject>;
  /** Why the list has no parameter of this name, if that is known. */
  explainParameter?(name: string): string | undefined;
  /** Returns the request for checked arguments, without the number of the page. Throws an `InputValidationError`. */
  request(params: Params, options: ListOptions): { path: string; query: Query & PageQueryParams };
  /** Returns how the pages of the list are read. */
  reading(params: Params): ListReading<T>;
  options: ListOptions;
}

/** How the pages of a list are read. */
export interface ListReading<T> {
  pageReader(request: PageRequest): ResponseReader<Page<T>>;
  maxPageSize: number;
  keyOf: ((record: T) => RecordKey | undefined) | undefined;
  /**
   * A column with unique values that never change. With `gapless`, the list is sorted by this column unless the caller
   * sorts.
   */
  stableSort?: string | undefined;
}

/** Returns how to read a list whose records have the key `key`. With `gapless`, it is sorted by `stableSort`. */
export const readingOf = <T>(
  { key, stableSort }: { key: string; stableSort?: string },
  pageReader: ListReading<T>["pageReader"],
): ListReading<T> => ({ pageReader, maxPageSize: MAX_PAGE_SIZE, keyOf: createFieldKeyReader(key), stableSort });

/**
 * Returns the paginator of a list. Parameters and options are read now, so later changes of the caller's objects have
 * no effect.
 */
export function createPaginator<T, Params>(requester: Requester, list: ListDefinition<T, Params>): Paginator<T> {
  try {
    const session = sessionOf(requester, list);
    return new Paginator<T>(() => session);
  } catch (error) {
    // The list rejects at its first use, so that the stack trace shows the caller of that use.
    return new Paginator<T>(() => {
      if (error instanceof StocklotError) Error.captureStackTrace?.(error);
      throw error;
    });
  }
}

/**
 * Creates the reader of a whole list. It shows whether the list was complete. `provesEnd`: one more request proves the
 * end.
 */
export const openReader = <T, Params>(
  requester: Requester,
  list: ListDefinition<T, Params>,
  { provesEnd = false } = {},
): ListReader<T> => new ListReader({ ...sessionOf(requester, list), limit: Infinity, provesEnd });

function sessionOf<T, Params>(requester: Requester, list: ListDefinition<T, Params>): PageSession<T> {
  const options = checkInput(list.name, listOptionsSchema, list.options, [], {
    noun: "option",
    explainName: (name) => describePlace(list.schema, name, "first"),
  });
  const params = checkInput(list.name, list.schema, list.params, [], {
    noun: "parameter",
    explainName: (name) => list.explainParameter?.(name) ?? describePlace(listOptionsSchema, name, "second"),
  });
  const { path, query } = list.request(params, options);
  if (options.gapless && (query.page ?? 1) > 1)
    throw new InputValidationError(list.name, [
      { path: ["page"], message: "must be 1 with gapless, which reads a whole list" },
    ]);
  return createPageSession(requester, list.reading(params), path, query, options);
}

const describePlace = (schema: LazySchema<z.ZodObject>, name: string, place: string) =>
  Object.hasOwn(schema().shape, name) ? `it belongs in the ${place} argument` : undefined;

/** Creates the session for one use of a list. The request was checked before. */
function createPageSession<T>(
  requester: Requester,
  { pageReader, maxPageSize, keyOf, stableSort }: ListReading<T>,
  path: string,
  requested: Query & PageQueryParams,
  { readAhead = 1, gapless = false, ...requestOptions }: ListOptions,
): PageSession<T> {
  // The largest size by default, because each page takes one request of the rate limit.
  const { page = 1, pageSize = MAX_PAGE_SIZE, sort = gapless ? stableSort : undefined } = requested;
  const { query } = encodeRequest({ method: "GET", path, query: { ...requested, sort, page, pageSize } });
  const label = `GET ${path}`;
  let validation: ResponseContext["validation"] | undefined;
  const warn = (topic: string, message: string) => validation && warnOnce(validation, `${topic} ${label}`, message);
  const warnIfUnsorted = (served: Page<T>) => {
    if (!gapless || sort === undefined || sort !== stableSort) return;
    const values = served.value.map((record) => fieldOf(record, sort));
    if (isSorted(values, requested.direction ?? "ASC") !== false) return;
    const problem = `pages are not sorted by ${sort}, so gapless reading may miss records while others are added or removed`;
    warn("unsorted", `${label}: ${problem}.`);
  };
  return {
    label,
    first: { page, pageSize },
    pageSize: gapless ? sizeWithOverlap(pageSize, maxPageSize) : pageSize,
    maxPageSize,
    readAhead,
    gapless,
    keyOf,
    warn: (message) => warn("short", message),
    fetch: (request, { isFurther, signal }) => {
      const readPage = pageReader(request);
      const callRequest: ApiRequest<Page<T>> = {
        method: "GET",
        path,
        query: { ...query, ...request },
        read: async (context) => {
          validation = context.validation;
          const served = await readPage(context);
          warnIfUnsorted(served);
          return served;
        },
        ...(isFurther && { priority: "low" as const }),
      };
      return requester.send(callRequest, requestOptions, signal);
    },
  };
}

type Warner = Pick<ResponseContext["validation"], "warn">;

/** The topics about which each client has warned. */
const warned = new WeakMap<Warner, Set<string>>();

export function warnOnce(client: Warner, topic: string, message: string): void {
  const topics = warned.get(client) ?? new Set();
  warned.set(client, topics);
  if (topics.has(topic)) return;
  topics.add(topic);
  client.warn(message);
}

/**
 * Returns a function that reads the key of a record from the field `name`. A response that was not checked may lack the field.
 * Such a record has no key and is always returned, since it would be lost if it were mistaken for an earlier record.
 */
export function createFieldKeyReader(name: string): (record: unknown) => RecordKey | undefined {
  return (record) => {
    const key = fieldOf(record, name);
    return typeof key === "string" || typeof key === "number" ? key : undefined;
  };
}

/** The last argument of a list method: the options of each request, and how the list is read. */
export interface ListOptions extends RequestOptions, PagingOptions {}

export const listOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...requestOptionsShape(),
    readAhead: integer().min(0).optional(),
    gapless: z.boolean().optional(),
  }),
);
