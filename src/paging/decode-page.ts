import * as z from "zod";
import type { ResponseContext, ResponseReader } from "../core/call.js";
import { invalidResponse } from "../core/response/caller-error.js";
import { assertSchema, readJson, unchecked, validate } from "../core/response/decode.js";
import { integer, type LazySchema, lazy } from "../schemas/field.js";
import type { StandardSchema } from "../schemas/standard-schema.js";
import type { Page, PageRequest } from "./page.js";

/** The paged envelope. Source: service interface, "Paged envelope". */
export const envelope = <S extends z.ZodType>(record: S) =>
  z.object({
    value: z.array(record),
    totalCount: integer(),
    page: integer(),
    pageSize: integer(),
    pageCount: integer(),
    hasMore: z.boolean(),
  });

const anyPage = /* @__PURE__ */ lazy(() => envelope(z.unknown()));

/** A page of records that follow a schema of ours. */
/* @__NO_SIDE_EFFECTS__ */
export function pageReader<T>(record: LazySchema<z.ZodType<T>>): (request: PageRequest) => ResponseReader<Page<T>> {
  const schema: LazySchema<z.ZodType<Page<T>>> = /* @__PURE__ */ lazy(() => envelope(record()));
  return (request) => (context) => {
    const data = readPage(context);
    assertSchema(schema, data, context);
    return context.validation.mode === "error" ? data : complete(data, request);
  };
}

/** A page of records that follow a schema of the caller's, or none. */
export function standardPageReader<T>(
  record: StandardSchema<T> | undefined,
): (request: PageRequest) => ResponseReader<Page<T>> {
  return (request) => async (context) => {
    const data = readPage(context);
    assertSchema<Page<unknown>>(anyPage, data, context);
    const value: T[] = [];
    for (const [index, entry] of data.value.entries()) {
      value.push(record ? await validate(record, entry, ["value", index], context) : unchecked(entry));
    }
    return complete({ ...data, value }, request);
  };
}

/** The envelope as JSON. Paging cannot do without an array of records, however lenient the client is set. */
function readPage(context: ResponseContext): unknown {
  const data = readJson(context);
  if (typeof data !== "object" || data === null || !("value" in data) || !Array.isArray(data.value)) {
    throw invalidResponse(context, [{ path: ["value"], message: "expected an array of records" }]);
  }
  return data;
}

/** Where a lenient check let wrong numbers pass, those that the request tells. */
function complete<T>(page: Page<T>, request: PageRequest): Page<T> {
  const whole = (value: number, otherwise: number) => (Number.isSafeInteger(value) ? value : otherwise);
  const number = whole(page.page, request.page);
  const pageSize = whole(page.pageSize, request.pageSize);
  return {
    ...page,
    page: number,
    pageSize,
    totalCount: whole(page.totalCount, (number - 1) * pageSize + page.value.length),
    pageCount: whole(page.pageCount, number),
    hasMore: page.hasMore === true,
  };
}
