import * as z from "zod";
import { countOrInfinitySchema, valueThat } from "../shared/option.js";
import { checkConfiguration, lazy, withCheck } from "../shared/schema.js";
import { fieldOf } from "../shared/unknown.js";
import { nearestNameHint } from "../shared/unknown-name.js";
import { createRandomGenerator, type RandomGenerator } from "./data/random.js";
import {
  createResponse,
  DROPPED_RESPONSE,
  errorResponse,
  jsonResponse,
  rateLimitExceededMessage,
  type SandboxResponse,
  STATUS_BY_ERROR_CODE,
} from "./http/messages.js";
import { delayMilliseconds, integerAtLeast } from "./values.js";

/**
 * A fault.
 *
 * - `status`: the response has this status and body (an object or array is sent as JSON, a string as it is)
 * - `drop`: the connection breaks before the response
 * - `hang`: there is never a response
 * - `truncated`: the connection breaks in the middle of the body
 * - `slow`: the body arrives piece by piece
 *
 * `when` specifies whether the request still takes effect: a write that is dropped `after` has been applied. A request
 * whose response is truncated or slow takes effect. Other responses: the option `rewrite`.
 */
export type Fault =
  | {
      /** A status instead of the response. */
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
      /** The connection breaks within the body. */
      type: "truncated";
      /** How much of the body is sent, in bytes. @default half of it */
      bytes?: number | undefined;
    }
  | {
      /** The body arrives in pieces. */
      type: "slow";
      /** Pause before each piece, in milliseconds. @default 50 */
      delayMs?: number | undefined;
      /** Size of a piece, in bytes. @default 256 */
      chunkBytes?: number | undefined;
    };

/** Specifies which requests fail, how often, and how. The first rule that matches a request applies. */
export interface FaultRule {
  /** HTTP method. @default any */
  method?: string | undefined;
  /** Path relative to the base URL, as sent (encoded), without the query; `*` matches anything. @default any */
  path?: string | RegExp | undefined;
  /** Number of matching requests before the fault applies. @default 0 */
  skip?: number | undefined;
  /** How many times the fault applies. @default Infinity */
  times?: number | undefined;
  /** Share of matching requests to which the fault applies, from 0 to 1; the same requests for the same `seed`. @default 1 */
  probability?: number | undefined;
  /** The fault that applies to these requests: with its details, by its name, or a status code. */
  fault: Fault | FaultName | number;
}

/** The faults that a name stands for. Each type of fault that needs no further field has a name of its own. */
const FAULTS_BY_NAME = {
  drop: { type: "drop" },
  "drop-after": { type: "drop", when: "after" },
  hang: { type: "hang" },
  "hang-after": { type: "hang", when: "after" },
  truncated: { type: "truncated" },
  slow: { type: "slow" },
} as const satisfies Readonly<Record<Exclude<Fault["type"], "status">, Fault>> & Readonly<Record<string, Fault>>;

type FaultName = keyof typeof FAULTS_BY_NAME;

export const FAULT_NAMES: readonly string[] = Object.keys(FAULTS_BY_NAME);

const isFaultName = (name: unknown): name is FaultName => typeof name === "string" && FAULT_NAMES.includes(name);

/** Also one of another realm: Jest runs each test file in a realm of its own. */
const isRegExp = (value: unknown) => Object.prototype.toString.call(value) === "[object RegExp]";

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
        { error: "must be a string or a regular expression" },
      )
      .optional(),
    skip: integerAtLeast(0).default(0),
    times: countOrInfinitySchema().default(Number.POSITIVE_INFINITY),
    probability: z.number().min(0).max(1).default(1),
    fault: withCheck(z.unknown().transform(expandShorthand), describeUnknownFault).pipe(faultSchema()),
  }),
);

/**
 * Returns a fault for a name or a status. A name that no fault has becomes a type that no fault has, which the schema
 * refuses.
 */
function expandShorthand(fault: unknown): unknown {
  if (typeof fault === "number") return { type: "status", status: fault };
  if (isFaultName(fault)) return FAULTS_BY_NAME[fault];
  return typeof fault === "object" ? fault : { type: fault };
}

function faultSchema() {
  const when = z.enum(["before", "after"]).default("before");
  const status = valueThat<number>(
    (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
    "must be an HTTP status from 200 to 599",
  );
  const headers = z.record(z.string(), z.string()).refine(areValidHeaders, "must be names and values that HTTP allows");
  const [delayMs, chunkBytes] = [delayMilliseconds().default(50), integerAtLeast(1).default(256)];
  const [body, bytes] = [z.unknown().optional(), integerAtLeast(0).optional()];
  return z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("status"), status, body, headers: headers.optional(), when }),
    z.strictObject({ type: z.enum(["drop", "hang"]), when }),
    z.strictObject({ type: z.literal("truncated"), bytes }),
    z.strictObject({ type: z.literal("slow"), delayMs, chunkBytes }),
  ]);
}

function describeUnknownFault(fault: unknown): string | undefined {
  const name = String(fieldOf(fault, "type"));
  if (["status", ...Object.values(FAULTS_BY_NAME).map(({ type }) => type)].includes(name)) return undefined;
  return `must be a status or one of ${FAULT_NAMES.join(", ")}${nearestNameHint(name, FAULT_NAMES)}`;
}

function areValidHeaders(headers: Readonly<Record<string, string>>): boolean {
  try {
    return Boolean(new Headers(headers));
  } catch {
    return false;
  }
}

type CompleteFaultRule = z.output<ReturnType<typeof faultRuleSchema>>;
type CompleteFault = CompleteFaultRule["fault"];

/** @throws ConfigurationError if the rule is wrong. */
export function completeFaultRule(rule: unknown): CompleteFaultRule {
  return faultRuleSchema().parse(checkConfiguration("addFault", faultRuleSchema(), rule ?? null));
}

export class FaultRules {
  #rules: { rule: CompleteFaultRule; path: RegExp | undefined; matched: number; applied: number }[] = [];
  #random: RandomGenerator;
  readonly #seed: number;

  constructor(seed: number, rules: readonly CompleteFaultRule[]) {
    this.#seed = seed;
    this.#random = createRandomGenerator(seed);
    for (const rule of rules) this.add(rule);
  }

  add(rule: CompleteFaultRule): void {
    const path = typeof rule.path === "string" ? wildcardToRegExp(rule.path) : rule.path;
    this.#rules.push({ rule, path, matched: 0, applied: 0 });
  }

  clear(): void {
    this.#rules = [];
    this.#random = createRandomGenerator(this.#seed);
  }

  takeFaultFor(request: { readonly method: string; readonly path: string }): CompleteFault | undefined {
    for (const active of this.#rules) {
      const { rule, path } = active;
      if (rule.method !== undefined && rule.method.toUpperCase() !== request.method) continue;
      // `search` rather than `test`: an expression with the flag g would keep its position between requests.
      if (path !== undefined && request.path.search(path) === -1) continue;
      active.matched += 1;
      if (active.matched <= rule.skip || active.applied >= rule.times) continue;
      if (rule.probability < 1 && this.#random() >= rule.probability) continue;
      active.applied += 1;
      return rule.fault;
    }
    return undefined;
  }
}

export function wildcardToRegExp(path: string): RegExp {
  const literal = path.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`);
}

/** Whether the service's own response is sent, although a fault may delay it or cut it off. */
export const servesResponse = (type: string | undefined): boolean =>
  type === undefined || type === "truncated" || type === "slow";

/**
 * Returns the faulty response; `undefined` if there is never a response. `serve` lets the request take effect, and
 * returns the service's own response.
 */
export function applyFault(fault: CompleteFault, serve: () => SandboxResponse): SandboxResponse | undefined {
  if ("when" in fault && fault.when === "after") serve();
  switch (fault.type) {
    case "status":
      return statusResponse(fault.status, fault.body, fault.headers);
    case "hang":
      return undefined;
    case "drop":
      return DROPPED_RESPONSE;
    case "truncated":
      return { ...serve(), delivery: { kind: "truncated", bytes: fault.bytes } };
    case "slow":
      return { ...serve(), delivery: { kind: "slow", delayMs: fault.delayMs, chunkBytes: fault.chunkBytes } };
    default:
      return fault satisfies never;
  }
}

function statusResponse(status: number, body: unknown, given: Readonly<Record<string, string>> = {}): SandboxResponse {
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
  if (typeof body === "string") return createResponse(status, body, "text/plain", headers);
  if (body !== undefined || status < 400) return jsonResponse(status, body, headers);
  if (status === 429) return jsonResponse(status, { message: rateLimitExceededMessage() }, headers);
  // The first code that the document has for the status: for 400 that is `bad_request`.
  const code = Object.entries(STATUS_BY_ERROR_CODE).find(([, known]) => known === status)?.[0];
  return errorResponse(status, code, "This response is the result of a fault rule.", { headers });
}
