import * as z from "zod";
import type { CallRequest, ResponseReader } from "../core/call.js";
import type { Sender } from "../core/pipeline.js";
import { checkInput } from "../core/request/check-input.js";
import { snapshotOf } from "../core/request/copy-of.js";
import { callback, type RequestOptions, requestOptionsShape } from "../core/request/options.js";
import { encodePayload, type Query } from "../core/request/payload.js";
import { InputValidationError } from "../errors/index.js";
import { integer, type LazySchema, lazy } from "../schemas/field.js";
import { checkpointSchema } from "./checkpoint.js";
import { allowanceOf } from "./estimate.js";
import type { Page, PageRequest, PageSession, PagingOptions } from "./page.js";
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
export interface List<T, Params> {
  /** The method that lists, for messages. */
  name: string;
  params: Params;
  /** What the parameters have to be. */
  schema: LazySchema<z.ZodObject>;
  /** The request that checked arguments ask for, without its page; throws an `InputValidationError`. */
  request(params: Params, options: ListOptions): { path: string; query: Query & PageQuery };
  options: ListOptions;
  answer(request: PageRequest): ResponseReader<Page<T>>;
  maxPageSize: number;
  keyOf: ((record: T) => RecordKey | undefined) | undefined;
  /** A column with unique values that never change, asked for with `gapless` where the caller does not sort. */
  stableSort?: string | undefined;
}

/** The records of a list. Parameters and options are read now: what the caller does with them afterwards has no effect. */
export function paginatorOf<T, Params>(sender: Sender, list: List<T, Params>): Paginator<T> {
  const readParams = snapshotOf(list.params);
  const readOptions = snapshotOf(list.options);
  return new Paginator<T>({
    prepare: () => {
      const params = readParams();
      const options = readOptions();
      checkInput(list.name, listOptionsSchema, options, [], {
        noun: "option",
        other: { schema: list.schema, place: "the first argument" },
      });
      checkInput(list.name, list.schema, params, [], {
        noun: "parameter",
        other: { schema: listOptionsSchema, place: "the second argument" },
      });
      const { path, query } = list.request(params, options);
      return openSession(sender, list, path, query, options);
    },
  });
}

/** One use of a list, with its request resolved. */
function openSession<T>(
  sender: Sender,
  { name, answer, maxPageSize, keyOf, stableSort }: Omit<List<T, unknown>, "request">,
  path: string,
  wanted: Query & PageQuery,
  { readAhead = 1, concurrency = 1, gapless = false, from, onProgress, ...requestOptions }: ListOptions,
): PageSession<T> {
  const { page = 1, pageSize = DEFAULT_PAGE_SIZE, sort = gapless ? stableSort : undefined } = wanted;
  const { query } = encodePayload({ method: "GET", path, query: { ...wanted, sort, page, pageSize } });
  const identity = identityOf(path, query);
  if (from && from.list !== identity) {
    const message = `is a checkpoint of another list, ${from.list}; this one is ${identity}`;
    throw new InputValidationError(name, [{ path: ["from"], message }]);
  }
  let latencyMs = Number.NaN;
  return {
    list: identity,
    from,
    page,
    pageSize,
    maxPageSize,
    readAhead,
    concurrency,
    gapless,
    onProgress: onProgress && ((progress) => sender.guard("onProgress", () => onProgress(progress))),
    keyOf,
    fetch: (request, { further, signal }) => {
      const readPage = answer(request);
      const call: CallRequest<Page<T>> = {
        method: "GET",
        path,
        query: { ...query, ...request },
        read: (context) => {
          const { call } = context;
          const { sendingMs, readingMs } = call.spent;
          const tookMs = (sendingMs + readingMs) / call.attempts;
          latencyMs = Number.isNaN(latencyMs) ? tookMs : latencyMs + (tookMs - latencyMs) / SMOOTHED_OVER;
          return readPage(context);
        },
        priority: further ? "low" : "normal",
        bulk: further,
      };
      return sender.sendPage(call, definedOf(requestOptions), signal);
    },
    pace: () => ({ latencyMs, ...allowanceOf(sender.limiter) }),
  };
}

/** Path and parameters, whatever their order. */
const identityOf = (path: string, query: Query) => `${path} ${JSON.stringify(Object.entries(query).sort())}`;

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

/** The last argument of a method that lists: settings of each request, and how the list is read. */
export interface ListOptions extends RequestOptions, PagingOptions {}

export const listOptionsSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...requestOptionsShape(),
    readAhead: integer().min(0).optional(),
    concurrency: integer().min(1).optional(),
    gapless: z.boolean().optional(),
    from: checkpointSchema().optional(),
    onProgress: callback().optional(),
  }),
);
