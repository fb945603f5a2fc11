import * as z from "zod";
import { type DocumentedList, MAX_PAGE_SIZE } from "../../service/lists.js";
import { checkInput } from "../../shared/check.js";
import { snapshotArgument } from "../../shared/copy-of.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { integer, type LazySchema, lazy } from "../../shared/field.js";
import { functionSchema } from "../../shared/option.js";
import type { ApiRequest, ResponseReader } from "../send/call.js";
import { encodeRequest, type Query } from "../send/payload.js";
import { type RequestOptions, requestOptionsShape } from "../send/request-options.js";
import type { Sender } from "../send/send.js";
import { checkpointSchema } from "./checkpoint.js";
import { pageAllowanceOf } from "./estimate.js";
import type { Page, PageRequest, PageSession, PagingOptions } from "./page.js";
import { Paginator } from "./paginator.js";
import type { RecordKey } from "./seen-keys.js";

/** The weight of one request in the average latency is 1 divided by this number. */
const LATENCY_AVERAGE_REQUESTS = 8;

interface PageQueryParams {
  page?: number | undefined;
  pageSize?: number | undefined;
  sort?: string | undefined;
}

/** A list of the service, described by its resource. */
export interface ListDefinition<T, Params> {
  /** Name of the method, for messages. */
  name: string;
  params: Params;
  /** The schema of the parameters. */
  schema: LazySchema<z.ZodObject>;
  /** Why the list has no parameter of this name, if that is known. */
  explainParameter?(name: string): string | undefined;
  /** The request for checked arguments, without its page. Throws an `InputValidationError`. */
  request(params: Params, options: ListOptions): { path: string; query: Query & PageQueryParams };
  options: ListOptions;
  pageReader(request: PageRequest): ResponseReader<Page<T>>;
  maxPageSize: number;
  keyOf: ((record: T) => RecordKey | undefined) | undefined;
  /** A column with unique values that never change. With `gapless` the list is sorted by it if the caller does not sort. */
  stableSort?: string | undefined;
}

/** How a documented list is read. */
export const pagingOf = ({ key, stableSort }: DocumentedList) => ({
  maxPageSize: MAX_PAGE_SIZE,
  keyOf: createFieldKeyReader(key),
  stableSort,
});

/** The records of a list. Parameters and options are copied now: changing them afterwards has no effect. */
export function createPaginator<T, Params>(sender: Sender, list: ListDefinition<T, Params>): Paginator<T> {
  const readParams = snapshotArgument(list.params);
  const readOptions = snapshotArgument(list.options);
  return new Paginator<T>(() => {
    const options = checkInput(list.name, listOptionsSchema, readOptions(), [], {
      noun: "option",
      explainName: (name) => describePlace(list.schema, name, "first"),
    });
    const params = checkInput(list.name, list.schema, readParams(), [], {
      noun: "parameter",
      explainName: (name) => list.explainParameter?.(name) ?? describePlace(listOptionsSchema, name, "second"),
    });
    const { path, query } = list.request(params, options);
    return createPageSession(sender, list, path, query, options);
  });
}

const describePlace = (schema: LazySchema<z.ZodObject>, name: string, place: string) =>
  Object.hasOwn(schema().shape, name) ? `it belongs in the ${place} argument` : undefined;

/** One use of a list, with its request resolved. */
function createPageSession<T>(
  sender: Sender,
  { name, pageReader, maxPageSize, keyOf, stableSort }: Omit<ListDefinition<T, unknown>, "request">,
  path: string,
  requested: Query & PageQueryParams,
  { readAhead = 1, concurrency = 1, gapless = false, from, onProgress, ...requestOptions }: ListOptions,
): PageSession<T> {
  // Each page costs one request of the limit.
  const { page = 1, pageSize = MAX_PAGE_SIZE, sort = gapless ? stableSort : undefined } = requested;
  const { query } = encodeRequest({ method: "GET", path, query: { ...requested, sort, page, pageSize } });
  const identity = listIdentityOf(path, query);
  if (from && from.list !== identity) {
    const message = `is a checkpoint of another list, ${from.list}; this one is ${identity}`;
    throw new InputValidationError(name, [{ path: ["from"], message }]);
  }
  let latencyMs = Number.NaN;
  return {
    list: identity,
    label: `GET ${path}`,
    from,
    page,
    pageSize,
    maxPageSize,
    readAhead,
    concurrency,
    gapless,
    onProgress: onProgress && ((progress) => sender.guard("onProgress", () => onProgress(progress))),
    keyOf,
    fetch: (request, { slotKind, signal }) => {
      const readPage = pageReader(request);
      const callRequest: ApiRequest<Page<T>> = {
        method: "GET",
        path,
        query: { ...query, ...request },
        read: (context) => {
          const lastAttemptMs = 0;
          latencyMs = Number.isNaN(latencyMs)
            ? lastAttemptMs
            : latencyMs + (lastAttemptMs - latencyMs) / LATENCY_AVERAGE_REQUESTS;
          return readPage(context);
        },
        ...(slotKind === "bulk" && { priority: "low" as const }),
      };
      return sender.send(callRequest, requestOptions, signal);
    },
    pace: () => ({ latencyMs, ...pageAllowanceOf(sender.limiter) }),
  };
}

/** Path and parameters, independent of their order. */
const listIdentityOf = (path: string, query: Query) => `${path} ${JSON.stringify(Object.entries(query).sort())}`;

/**
 * The key of a record in one of its fields. A response that was not checked may lack the field. Such a record has no key and
 * is always returned, since it would be lost if it were mistaken for one that was returned before.
 */
export function createFieldKeyReader(name: string): (record: unknown) => RecordKey | undefined {
  return (record) => {
    const key: unknown = typeof record === "object" && record !== null ? Reflect.get(record, name) : undefined;
    return typeof key === "string" || typeof key === "number" ? key : undefined;
  };
}

/** The last argument of a list method: the options of each request, and how the list is read. */
export interface ListOptions extends RequestOptions, PagingOptions {}

export const listOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...requestOptionsShape(),
    readAhead: integer().min(0).optional(),
    concurrency: integer().min(1).optional(),
    gapless: z.boolean().optional(),
    from: checkpointSchema().optional(),
    onProgress: functionSchema().optional(),
  }),
);
