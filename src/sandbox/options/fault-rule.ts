import * as z from "zod";
import { checkConfiguration } from "../../shared/check.js";
import { lazy } from "../../shared/field.js";
import { countOrInfinitySchema, valueThat } from "../../shared/option.js";
import { delayMilliseconds, integerAtLeast, nonBlankString } from "../values.js";

/**
 * A fault.
 *
 * - `status`: the response has this status and body (an object or array is sent as JSON, a string as it is)
 * - `drop`: the connection breaks before the response
 * - `hang`: there is never a response
 * - `slow`: the body arrives piece by piece
 * - `truncated`: the connection breaks in the middle of the body
 * - `invalid-json`, `empty`: a body that is not JSON; no body at all
 * - `html`: a proxy's error page
 * - `wrong-shape`: valid JSON that is not what the service documents
 * - `oversized`: a very large body
 *
 * `when` specifies whether the request still takes effect: a write that is dropped `after` has been applied.
 */
export type Fault =
  | {
      /** An error status instead of the response. */
      type: "status";
      /** HTTP status of the response. */
      status: number;
      /** @default the service's own error object for that status */
      body?: unknown | undefined;
      /** Further headers of the response. @default none */
      headers?: Readonly<Record<string, string>> | undefined;
      /** @default "before" */
      when?: "before" | "after" | undefined;
    }
  | {
      /** The connection breaks, or there is no response. */
      type: "drop" | "hang";
      /** @default "before" */
      when?: "before" | "after" | undefined;
    }
  | {
      /** The body arrives in pieces. */
      type: "slow";
      /** Pause before each piece, in milliseconds. @default 50 */
      delayMs?: number | undefined;
      /** Size of a piece, in bytes. @default 256 */
      chunkBytes?: number | undefined;
    }
  | {
      /** The connection breaks within the body. */
      type: "truncated";
      /** How much of the body is sent, in bytes. @default half of it */
      bytes?: number | undefined;
    }
  | {
      /** The body is not JSON, or empty. */
      type: "invalid-json" | "empty";
    }
  | {
      /** The error page of a proxy. */
      type: "html";
      /** @default 502 */
      status?: number | undefined;
      /** @default "before" */
      when?: "before" | "after" | undefined;
    }
  | {
      /** A success with another body than documented. */
      type: "wrong-shape";
      /** Sent in place of the documented body. @default { "unexpected": true } */
      body?: unknown | undefined;
    }
  | {
      /** A very large body. */
      type: "oversized";
      /** Size of the body, in bytes. @default 100 MiB */
      bytes?: number | undefined;
    };

/** A fault without details, or a status code. */
export type FaultShorthand = Exclude<Fault["type"], "status"> | "drop-after" | "hang-after" | number;

/** Specifies which requests fail, how often, and how. The first rule that matches a request applies. */
export interface FaultRule {
  /** HTTP method. @default any */
  method?: string | undefined;
  /** Path relative to the base URL, as sent (encoded), without the query; `*` matches anything. @default any */
  path?: string | RegExp | undefined;
  /** Only requests of this client. @default any */
  clientId?: string | undefined;
  /** Number of matching requests before the fault applies. @default 0 */
  skip?: number | undefined;
  /** How many times the fault applies. @default Infinity */
  times?: number | undefined;
  /** Share of matching requests to which the fault applies, from 0 to 1; the same requests for the same `seed`. @default 1 */
  probability?: number | undefined;
  /** The fault that applies to these requests. */
  fault: Fault | FaultShorthand;
}

/** Faults that can be named without details, besides a status. */
export const FAULT_SHORTHANDS: readonly Exclude<FaultShorthand, number>[] = [
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

/** The fault that a shorthand stands for. An unknown one becomes a fault of unknown type, which the schema refuses. */
export function expandFaultShorthand(fault: Fault | FaultShorthand): Fault;
export function expandFaultShorthand(fault: unknown): unknown;
export function expandFaultShorthand(fault: unknown): unknown {
  if (typeof fault === "object") return fault;
  if (typeof fault === "number") return { type: "status", status: fault };
  if (fault === "drop-after") return { type: "drop", when: "after" };
  if (fault === "hang-after") return { type: "hang", when: "after" };
  return { type: fault };
}

/** Also of another realm: Jest runs each test file in one of its own. */
const isRegExp = (value: unknown) => Object.prototype.toString.call(value) === "[object RegExp]";

/** Just below the longest JavaScript string. */
const MAX_OVERSIZED_BODY_BYTES = 500_000_000;
const DEFAULT_OVERSIZED_BODY_BYTES = 100 * 1024 * 1024;

/** The allowed values of a fault rule, and the defaults. */
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
          valueThat<RegExp>(isRegExp, "must be a regular expression"),
        ],
        {
          error: "must be a string or a regular expression",
        },
      )
      .optional(),
    clientId: nonBlankString().optional(),
    skip: integerAtLeast(0).default(0),
    times: countOrInfinitySchema().default(Number.POSITIVE_INFINITY),
    probability: z.number().min(0).max(1).optional(),
    fault: z.preprocess(expandFaultShorthand, faultSchema()),
  }),
);

/** A rule with all its defaults. */
export type CompleteFaultRule = z.output<ReturnType<typeof faultRuleSchema>>;

/** @throws ConfigurationError if the rule is wrong. */
export function completeFaultRule(rule: unknown): CompleteFaultRule {
  checkConfiguration("addFault", faultRuleSchema(), rule ?? null, { quotesStrings: true });
  return faultRuleSchema().parse(rule);
}

/** A status that a response can have: those below 200 are informational. */
const httpStatusCodeSchema = () =>
  valueThat<number>(
    (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
    "must be an HTTP status from 200 to 599",
  );

function faultSchema() {
  const when = z.enum(["before", "after"]).default("before");
  return z.discriminatedUnion(
    "type",
    [
      z.strictObject({
        type: z.literal("status"),
        status: httpStatusCodeSchema(),
        body: z.unknown().optional(),
        headers: z
          .record(z.string(), z.string())
          .refine(areValidHeaders, "must be names and values that HTTP allows")
          .optional(),
        when,
      }),
      z.strictObject({ type: z.enum(["drop", "hang"]), when }),
      z.strictObject({
        type: z.literal("slow"),
        delayMs: delayMilliseconds().default(50),
        chunkBytes: integerAtLeast(1).default(256),
      }),
      z.strictObject({ type: z.literal("truncated"), bytes: integerAtLeast(0).optional() }),
      z.strictObject({ type: z.enum(["invalid-json", "empty"]) }),
      z.strictObject({ type: z.literal("html"), status: httpStatusCodeSchema().default(502), when }),
      z.strictObject({ type: z.literal("wrong-shape"), body: z.unknown().default({ unexpected: true }) }),
      z.strictObject({
        type: z.literal("oversized"),
        bytes: integerAtLeast(0).max(MAX_OVERSIZED_BODY_BYTES).default(DEFAULT_OVERSIZED_BODY_BYTES),
      }),
    ],
    { error: `must be a status or one of ${FAULT_SHORTHANDS.join(", ")}` },
  );
}

function areValidHeaders(headers: Readonly<Record<string, string>>): boolean {
  try {
    return Boolean(new Headers(headers));
  } catch {
    return false;
  }
}
