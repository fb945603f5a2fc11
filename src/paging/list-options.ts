import * as z from "zod";
import { callback, type RequestOptions, requestOptionsShape } from "../core/request-options.js";
import { integer, lazy } from "../schemas/field.js";
import { checkpointSchema } from "./checkpoint.js";
import type { PagingOptions } from "./page.js";

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
