import * as z from "zod";
import { MAX_PAGE_SIZE } from "../../service/lists.js";
import { InputValidationError } from "../../shared/errors/index.js";
import { valueThat } from "../../shared/option.js";
import {
  boolean,
  checkInput,
  integer,
  lazy,
  optionalFields,
  readInput,
  string,
  withCheck,
} from "../../shared/schema.js";
import { isStandardSchema, type StandardSchema } from "../../shared/standard-schema.js";
import { castUnchecked } from "../../shared/unknown.js";
import { createStandardPageReader } from "../lists/decode-page.js";
import { createFieldKeyReader, createPaginator, type ListOptions } from "../lists/list.js";
import type { Paginator } from "../lists/paginator.js";
import type { ResponseReader } from "../send/call.js";
import { describePathProblem, type Query } from "../send/payload.js";
import type { RequestOptions } from "../send/request-options.js";
import type { Requester } from "../send/requester.js";
import { createStandardJsonReader, readJsonBody } from "../send/response.js";

/** A request to an endpoint that has no method of its own. */
export interface CustomRequest<T = unknown> {
  /** HTTP method. A `POST` or `PATCH` that may have been applied is not retried. */
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Relative to `baseUrl`: starts with `/`, is already encoded, and has no query, fragment or dot segment. */
  path: string;
  /** Query parameters; those that are `undefined` are left out. */
  query?: Query | undefined;
  /** Sent as JSON; `URLSearchParams` as a form. */
  body?: unknown;
  /**
   * Any Standard Schema (zod, valibot, arktype) for the body of the response. The call returns the schema's output.
   * @default none: the parsed body is returned unchecked
   */
  schema?: StandardSchema<T> | undefined;
}

/** A list that has no method of its own. */
export interface CustomList<T = unknown> {
  /** As in {@link CustomRequest}. */
  path: string;
  /** Query parameters. `page` is the first page to read, from 1; `pageSize` is in records. */
  query?: Query | undefined;
  /**
   * Any Standard Schema for one record.
   * @default none: records are returned unchecked
   */
  schema?: StandardSchema<T> | undefined;
  /**
   * The largest page size of the service, in records, which is also the default page size: 50 for order resources, 1,000
   * for reports.
   * @default 250
   */
  maxPageSize?: number | undefined;
  /**
   * The field that identifies a record, a string or a number. Required for `gapless`. Without it, records are not
   * de-duplicated.
   * @default none
   */
  key?: (keyof T & string) | undefined;
}

/** The fields that requests and lists share. */
const customEndpointShape = () => ({
  path: withCheck(z.unknown(), describePathProblem),
  ...optionalFields({
    query: z.record(
      string(),
      z.union([string(), z.number(), boolean(), z.date(), z.undefined()], {
        error: "must be a string, number, boolean or Date",
      }),
    ),
    schema: valueThat(isStandardSchema, "must be a Standard Schema"),
  }),
});

const customRequestSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    ...customEndpointShape(),
    body: z.unknown().optional(),
  }),
);

const customListSchema = /* @__PURE__ */ lazy(() =>
  z.strictObject({
    ...customEndpointShape(),
    ...optionalFields({
      maxPageSize: integer().min(1),
      key: valueThat<string>((key) => typeof key === "string" && key !== "", "must be a field name"),
    }),
  }),
);

const pageQuerySchema = /* @__PURE__ */ lazy(() =>
  z.object({ page: integer().min(1), pageSize: integer().min(1), sort: string() }).partial(),
);

/** `client.request`. */
export async function sendCustomRequest<T>(
  requester: Requester,
  request: CustomRequest<T>,
  options?: RequestOptions,
): Promise<T> {
  const { method, path, query, body, schema } = checkInput("request", customRequestSchema, request);
  // The response to a DELETE or a PUT may also have no body.
  const readUnchecked: ResponseReader<T> = (context) =>
    castUnchecked(context.response.body.length === 0 ? undefined : readJsonBody(context));
  const read = schema ? createStandardJsonReader(schema) : readUnchecked;
  return requester.send({ method, path, query, body, read }, options);
}

/** `client.paginate`. */
export function paginateCustomList<T>(
  requester: Requester,
  list: CustomList<T>,
  options: ListOptions = {},
): Paginator<T> {
  return createPaginator<T, CustomList<T>>(requester, {
    name: "paginate",
    params: list,
    schema: customListSchema,
    request: ({ path, query = {}, key, maxPageSize = MAX_PAGE_SIZE }, { gapless }) => {
      const paging = readInput("paginate", pageQuerySchema, query, ["query"]);
      if (gapless && key === undefined) {
        throw new InputValidationError("paginate", [{ path: ["key"], message: "is required for gapless" }]);
      }
      return { path, query: { ...query, ...paging, pageSize: paging.pageSize ?? maxPageSize } };
    },
    reading: ({ schema, key, maxPageSize = MAX_PAGE_SIZE }) => ({
      pageReader: createStandardPageReader<T>(schema),
      maxPageSize,
      keyOf: key === undefined ? undefined : createFieldKeyReader(key),
    }),
    options,
  });
}
