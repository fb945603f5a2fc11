import * as z from "zod";
import { integer, type LazySchema, lazy } from "../../shared/schema.js";
import type { StandardSchema } from "../../shared/standard-schema.js";
import { castUnchecked, fieldOf } from "../../shared/unknown.js";
import type { ResponseContext, ResponseReader } from "../send/call.js";
import {
  assertMatchesSchema,
  compileLazily,
  invalidResponseError,
  readJsonBody,
  validateWithStandardSchema,
} from "../send/response.js";
import type { Page, PageRequest } from "./page.js";

/** The paged envelope. Source: service interface, "Paged envelope". */
export const pageEnvelopeSchema = <S extends z.ZodType>(record: S) =>
  z.object({
    value: z.array(record),
    totalCount: integer(),
    page: integer(),
    pageSize: integer(),
    pageCount: integer(),
    hasMore: z.boolean(),
  });

const unknownPageSchema = /* @__PURE__ */ lazy(() => pageEnvelopeSchema(z.unknown()));

/** Reads a page of records that are checked by a schema of the client. */
/* @__NO_SIDE_EFFECTS__ */
export function createPageReader<T>(
  record: LazySchema<z.ZodType<T>>,
): (request: PageRequest) => ResponseReader<Page<T>> {
  const schema: LazySchema<z.ZodType<Page<T>>> = /* @__PURE__ */ compileLazily(() => pageEnvelopeSchema(record()));
  return (request) => (context) => {
    const data = readPageJson(context);
    assertMatchesSchema(schema, data, context);
    return context.validation.mode === "error" ? data : replaceInvalidPageNumbers(data, request);
  };
}

/** Reads a page of records that are checked by a schema of the caller, or not at all. */
export function createStandardPageReader<T>(
  record: StandardSchema<T> | undefined,
): (request: PageRequest) => ResponseReader<Page<T>> {
  return (request) => async (context) => {
    const data = readPageJson(context);
    assertMatchesSchema<Page<unknown>>(unknownPageSchema, data, context);
    const value: T[] = [];
    for (const [index, entry] of data.value.entries()) {
      value.push(
        record ? await validateWithStandardSchema(record, entry, ["value", index], context) : castUnchecked(entry),
      );
    }
    return replaceInvalidPageNumbers({ ...data, value }, request);
  };
}

/** The envelope as JSON. Paging requires an array of records and a boolean `hasMore`, whatever `responseValidation` is. */
function readPageJson(context: ResponseContext): unknown {
  const data = readJsonBody(context);
  if (!Array.isArray(fieldOf(data, "value")))
    throw invalidResponseError(context, [{ path: ["value"], message: "expected an array of records" }]);
  if (typeof fieldOf(data, "hasMore") !== "boolean")
    throw invalidResponseError(context, [{ path: ["hasMore"], message: "expected a boolean" }]);
  return data;
}

/** Replaces missing or wrong page numbers by the numbers of the request. Only a lenient check accepts them. */
function replaceInvalidPageNumbers<T>(page: Page<T>, request: PageRequest): Page<T> {
  const integerOr = (value: number, fallback: number) => (Number.isSafeInteger(value) ? value : fallback);
  const number = integerOr(page.page, request.page);
  const pageSize = integerOr(page.pageSize, request.pageSize);
  return {
    ...page,
    page: number,
    pageSize,
    totalCount: integerOr(page.totalCount, (number - 1) * pageSize + page.value.length),
    pageCount: integerOr(page.pageCount, number),
  };
}
