import * as z from "zod";
import { ConfigurationError } from "../errors/index.js";
import { nearestNameHint } from "../errors/unknown-name.js";
import { fieldOf } from "../errors/unknown-value.js";
import { nodeUtil } from "../runtime/node-modules.js";
import { parseIsoTime } from "./time.js";

/** A problem as zod reports it, before it has a message. */
export type ZodRawIssue = Parameters<z.core.$ZodErrorMap>[0];

/** What is wrong with a value, for options and request bodies alike. */
export function describeZodIssue(issue: ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined && issue.path?.length
        ? REQUIRED_MESSAGE
        : `must be ${TYPE_DESCRIPTIONS.get(issue.expected) ?? issue.expected}`;
    case "invalid_value":
      return `must be ${issue.values.map(quote).join(" or ")}`;
    case "too_small":
      return `must be ${issue.inclusive ? "at least" : "greater than"} ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    default:
      return "is invalid";
  }
}

export const REQUIRED_MESSAGE = "is required";

const TYPE_DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  ["int", "an integer"],
  ["number", "a number"],
  ["string", "a string"],
  ["boolean", "true or false"],
  ["array", "an array"],
  ["object", "an object"],
  ["record", "an object"],
]);

/** An integer of at least `min`. */
export const integerAtLeast = (min: number) => z.int().min(min);

/** A count, or Infinity. */
export const countOrInfinity = () =>
  z.custom<number>(
    (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && Number(value) >= 0),
    "must be an integer of at least 0, or Infinity",
  );

/** A quantity of stock, at least 0. */
export const nonNegativeQuantity = () => z.number().min(0);

/** A string that is not blank. */
export const nonBlankString = () => z.string().refine((text) => text.trim() !== "", "must not be empty");

export const datetimeString = () =>
  dateStringMatching((text) => parseIsoTime(text) !== undefined, "must be a datetime (ISO 8601)");

export const dateStringMatching = (isValid: (text: string) => boolean, error: string) =>
  z.string(error).refine(isValid, error);

/** A status that a response can have: those below 200 are informational. */
export const httpStatusCodeSchema = () =>
  z.custom<number>(
    (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
    "must be an HTTP status from 200 to 599",
  );

/** A delay that `setTimeout` can take. */
export const delayMilliseconds = () =>
  z
    .number()
    .min(0)
    .max(2 ** 31 - 1);

export const anyFunction = () => z.custom((value) => typeof value === "function", "must be a function");

/**
 * Throws a `ConfigurationError` that names the field when the value does not match the schema.
 *
 * @param what what a field of the value is called in the message, for example "sandbox option"
 */
export function assertMatchesSchema(schema: z.ZodType, value: unknown, what: string): void {
  const [issue] = schema.safeParse(value, { error: describeOptionIssue }).error?.issues ?? [];
  if (!issue) return;
  const found = closestUnionIssue(issue);
  if (found.code === "unrecognized_keys") {
    const path = formatOptionPath([...found.path, found.keys[0] ?? ""]);
    throw new ConfigurationError(`Unknown ${what} "${path}"${found.message || "."}`);
  }
  const name = found.path.length > 0 ? `${capitalize(what)} "${formatOptionPath(found.path)}"` : `The ${what}s`;
  throw new ConfigurationError(`${name} ${found.message}.`);
}

/** For a union, the issue of the alternative that matches except for a detail. */
function closestUnionIssue(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  for (const [first] of issue.errors) {
    if (first && (first.path.length > 0 || !TYPE_MISMATCH_CODES.has(first.code))) {
      return closestUnionIssue({ ...first, path: [...issue.path, ...first.path] });
    }
  }
  return issue;
}

/** Issues that rule an alternative out. */
const TYPE_MISMATCH_CODES: ReadonlySet<string> = new Set(["invalid_type", "invalid_value", "custom"]);

/** More names than this are not listed. */
const MAX_LISTED_NAMES = 10;

/** The message, and the value that was passed instead. For an unknown name: the hint at the names that may have been meant. */
function describeOptionIssue(issue: ZodRawIssue): string {
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys(Object(fieldOf(issue.inst, "shape")));
    const list = known.length > MAX_LISTED_NAMES ? "" : `. Write one of ${known.join(", ")}`;
    return nearestNameHint(issue.keys[0] ?? "", known) || list;
  }
  const message = describeZodIssue(issue);
  return issue.input !== undefined && CODES_WITH_QUOTED_VALUE.has(issue.code)
    ? `${message}, not ${describeRejectedValue(issue)}`
    : message;
}

const CODES_WITH_QUOTED_VALUE: ReadonlySet<string> = new Set(["invalid_type", "invalid_value", "too_small", "too_big"]);

/** A value as it is written in code, shortened. */
const quote = (value: unknown) => nodeUtil?.inspect(value, { maxStringLength: 40 }) ?? String(value);

/** The value in short. Within `clients` only its type, since it may be a secret. */
function describeRejectedValue({ input, path }: ZodRawIssue): string {
  if (input === null) return "null";
  if (typeof input === "object") return Array.isArray(input) ? "an array" : "an object";
  return path?.[0] === "clients" ? `a ${typeof input}` : quote(input);
}

/** `lots[3].units` */
function formatOptionPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, depth) => (typeof part === "number" ? `[${part}]` : (depth && ".") + String(part)))
    .join("")
    .replace(/^0/, "");
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Throws a `ConfigurationError` when two records have the same value in the field; records without a value are skipped. */
export function assertUniqueField<Name extends string>(
  option: string,
  field: Name,
  records: readonly { readonly [N in Name]?: string | number | undefined }[],
): void {
  const seen = new Set<string | number>();
  for (const record of records) {
    const value = record[field];
    if (value === undefined) continue;
    if (seen.has(value)) throw new ConfigurationError(`Sandbox option "${option}" has ${field} ${value} twice.`);
    seen.add(value);
  }
}
