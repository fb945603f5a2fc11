import { types } from "node:util";
import * as z from "zod";
import { lazy } from "../../schemas/field.js";
import { countOrInfinity, httpStatus, integerFrom, milliseconds, nonBlankString } from "../validation.js";

/**
 * What goes wrong.
 *
 * - `status`: the answer has this status, and this body (an object or array is sent as JSON, text as it is)
 * - `drop`: the connection breaks before the service answers
 * - `hang`: no answer ever comes
 * - `slow`: the body arrives piece by piece
 * - `truncated`: the connection breaks in the middle of the body
 * - `invalid-json`, `empty`: a body that is not JSON; no body at all
 * - `html`: a proxy's error page
 * - `wrong-shape`: valid JSON that is not what the service documents
 * - `oversized`: a very large body
 *
 * `when` says whether the request still takes effect: a write that is dropped `after` has been applied.
 */
export type Fault =
  | {
      /** An error status instead of the answer. */
      type: "status";
      /** HTTP status of the answer. */
      status: number;
      /** @default the service's own error object for that status */
      body?: unknown;
      /** Further headers of the answer. @default none */
      headers?: Readonly<Record<string, string>>;
      /** @default "before" */
      when?: "before" | "after";
    }
  | {
      /** The connection breaks, or no answer comes. */
      type: "drop" | "hang";
      /** @default "before" */
      when?: "before" | "after";
    }
  | {
      /** The body comes in pieces. */
      type: "slow";
      /** Pause before each piece, in milliseconds. @default 50 */
      delayMs?: number;
      /** Size of a piece, in bytes. @default 256 */
      chunkBytes?: number;
    }
  | {
      /** The connection breaks within the body. */
      type: "truncated";
      /** How much of the body is sent. @default half of it */
      bytes?: number;
    }
  | {
      /** The body is no JSON, or there is none. */
      type: "invalid-json" | "empty";
    }
  | {
      /** The error page of a proxy. */
      type: "html";
      /** @default 502 */
      status?: number;
      /** @default "before" */
      when?: "before" | "after";
    }
  | {
      /** A success with another body than documented. */
      type: "wrong-shape";
      /** Sent in place of the documented body. @default { "unexpected": true } */
      body?: unknown;
    }
  | {
      /** A body that goes on and on. */
      type: "oversized";
      /** @default 100 MiB */
      bytes?: number;
    };

/** A fault without details, or a status code. */
export type FaultShorthand = Exclude<Fault["type"], "status"> | "drop-after" | "hang-after" | number;

/** Which requests go wrong, how often, and how. The first rule that fits a request decides. */
export interface FaultRule {
  /** HTTP method. @default any */
  method?: string;
  /** Path relative to the base URL, as sent (encoded), without the query; `*` stands for anything. @default any */
  path?: string | RegExp;
  /** Only requests of this client. @default any */
  clientId?: string;
  /** Let this many fitting requests through first. @default 0 */
  skip?: number;
  /** Spoil this many, then no more. @default Infinity */
  times?: number;
  /** Share of fitting requests to spoil, from 0 to 1; repeatable, since it follows `seed`. @default 1 */
  probability?: number;
  /** What happens to these requests. */
  fault: Fault | FaultShorthand;
}

/** Faults that can be named without details, besides a status. */
export const FAULT_NAMES: readonly Exclude<FaultShorthand, number>[] = [
  "drop",
  "drop-after",
  "hang",
  "hang-after",
  "slow",
  "truncated",
  "invalid-json",
  "empty",
  "html",
  "wrong-shape",
  "oversized",
];

/** The fault that a shorthand stands for. What is none comes back as a fault of a type that does not exist. */
export function toFault(fault: Fault | FaultShorthand): Fault;
export function toFault(fault: unknown): unknown;
export function toFault(fault: unknown): unknown {
  if (typeof fault === "object") return fault;
  if (typeof fault === "number") return { type: "status", status: fault };
  if (fault === "drop-after") return { type: "drop", when: "after" };
  if (fault === "hang-after") return { type: "hang", when: "after" };
  return { type: fault };
}

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
          error: "must be a string or a regular expression",
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
