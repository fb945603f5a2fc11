import { types } from "node:util";
import * as z from "zod";
import { lazy } from "../../schemas/field.js";
import { countOrInfinity, httpStatus, integerFrom, milliseconds, nonBlankString } from "../checks/fields.js";
import { FAULT_NAMES, toFault } from "./fault-from.js";

/** Just below what one JavaScript string can hold. */
const MOST_BYTES = 500_000_000;

/** What a fault rule can say. */
export const faultRuleSchema = lazy(() =>
  z.strictObject({
    method: z
      .string()
      .regex(/^[A-Z]+$/i, "must be an HTTP method")
      .optional(),
    path: z
      .union(
        [
          z.string().regex(/^[/*][^?\s]*$/, 'must begin with "/" or "*", be encoded, and have no query'),
          z.custom(types.isRegExp),
        ],
        {
          error: "must be text or a regular expression",
        },
      )
      .optional(),
    clientId: nonBlankString().optional(),
    skip: integerFrom(0).optional(),
    times: countOrInfinity().optional(),
    probability: z.number().min(0).max(1).optional(),
    fault: z.preprocess(toFault, faultSchema()),
  }),
);

function faultSchema() {
  const when = z.enum(["before", "after"]).optional();
  return z.discriminatedUnion(
    "type",
    [
      z.strictObject({
        type: z.literal("status"),
        status: httpStatus(),
        body: z.unknown().optional(),
        headers: z
          .record(z.string(), z.string())
          .refine(areHeaders, "must be names and values that HTTP allows")
          .optional(),
        when,
      }),
      z.strictObject({ type: z.enum(["drop", "hang"]), when }),
      z.strictObject({
        type: z.literal("slow"),
        delayMs: milliseconds().optional(),
        chunkBytes: integerFrom(1).optional(),
      }),
      z.strictObject({ type: z.literal("truncated"), bytes: integerFrom(0).optional() }),
      z.strictObject({ type: z.enum(["invalid-json", "empty"]) }),
      z.strictObject({ type: z.literal("html"), status: httpStatus().optional(), when }),
      z.strictObject({ type: z.literal("wrong-shape"), body: z.unknown().optional() }),
      z.strictObject({ type: z.literal("oversized"), bytes: integerFrom(0).max(MOST_BYTES).optional() }),
    ],
    { error: `must be a status or one of ${FAULT_NAMES.join(", ")}` },
  );
}

function areHeaders(headers: Readonly<Record<string, string>>): boolean {
  try {
    return Boolean(new Headers(headers));
  } catch {
    return false;
  }
}
