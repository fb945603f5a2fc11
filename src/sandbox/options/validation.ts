import { inspect } from "node:util";
import * as z from "zod";
import { parseTime } from "../dates.js";

/** A problem as zod reports it, before it has a message. */
type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/**
 * Throws a `TypeError` that names the field when the value does not fit.
 *
 * @param what what a field of the value is called in the message, for example "sandbox option"
 */
export function assertOptions(schema: z.ZodType, value: unknown, what: string): void {
  const [issue] = schema.safeParse(value, { error: messageFor }).error?.issues ?? [];
  if (!issue) return;
  const found = closestIssue(issue);
  if (found.code === "unrecognized_keys") {
    throw new TypeError(`Unknown ${what} "${nameOf([...found.path, found.keys[0] ?? ""])}".`);
  }
  const name = found.path.length > 0 ? `${capitalized(what)} "${nameOf(found.path)}"` : `The ${what}s`;
  throw new TypeError(`${name} ${found.message}.`);
}

/** Of the alternatives of a union the one that the value was meant for: where only a detail is wrong. */
function closestIssue(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  for (const [first] of issue.errors) {
    if (first && (first.path.length > 0 || !WRONG_ALTERNATIVE.has(first.code))) {
      return closestIssue({ ...first, path: [...issue.path, ...first.path] });
    }
  }
  return issue;
}

/** Problems that say that another alternative was meant. */
const WRONG_ALTERNATIVE: ReadonlySet<string> = new Set(["invalid_type", "invalid_value", "custom"]);

function messageFor(issue: RawIssue): string {
  const given = describeInput(issue);
  switch (issue.code) {
    case "invalid_type":
      return `must be ${NOUNS.get(issue.expected) ?? issue.expected}, not ${given}`;
    case "invalid_value":
      return `must be ${issue.values.map((value) => inspect(value)).join(" or ")}, not ${given}`;
    case "too_small":
      return `must be ${issue.inclusive ? "at least" : "more than"} ${issue.minimum}, not ${given}`;
    case "too_big":
      return `must be at most ${issue.maximum}, not ${given}`;
    default:
      return "has a value that makes no sense";
  }
}

/** The value in short. Within `clients` only its type, since it may be a secret. */
function describeInput({ input, path }: RawIssue): string {
  if (input === undefined || input === null) return String(input);
  if (typeof input === "object") return Array.isArray(input) ? "an array" : "an object";
  return path?.[0] === "clients" ? `a ${typeof input}` : inspect(input, { maxStringLength: 40 });
}

const NOUNS: ReadonlyMap<string, string> = new Map([
  ["int", "a whole number"],
  ["number", "a number"],
  ["string", "text"],
  ["boolean", "true or false"],
  ["array", "an array"],
  ["object", "an object"],
  ["record", "an object"],
]);

/** `lots[3].units` */
function nameOf(path: readonly PropertyKey[]): string {
  return path
    .map((part, depth) => (typeof part === "number" ? `[${part}]` : (depth && ".") + String(part)))
    .join("")
    .replace(/^0/, "");
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Throws a `TypeError` when two records have the same value in the field; those that have none do not count. */
export function assertUnique<Name extends string>(
  option: string,
  field: Name,
  records: readonly { readonly [N in Name]?: string | number | undefined }[],
): void {
  const seen = new Set<string | number>();
  for (const record of records) {
    const value = record[field];
    if (value === undefined) continue;
    if (seen.has(value)) throw new TypeError(`Sandbox option "${option}" has ${field} ${value} twice.`);
    seen.add(value);
  }
}

/** A whole number from `min` on. */
export const integerFrom = (min: number) => z.int().min(min);

/** How many, where "all of them" can be said as well. */
export const countOrInfinity = () =>
  z.custom<number>(
    (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && Number(value) >= 0),
    "must be a whole number of at least 0, or Infinity",
  );

/** A quantity of goods, which cannot be less than nothing. */
export const quantity = () => z.number().min(0);

/** Text that says something. */
export const nonBlankString = () => z.string().refine((text) => text.trim() !== "", "must not be empty");

export const datetime = () =>
  z.string().refine((text) => parseTime(text) !== undefined, "must be a datetime (ISO 8601)");

/** A status that an answer can have: those below 200 announce another one. */
export const httpStatus = () =>
  z.custom<number>(
    (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 599,
    "must be an HTTP status from 200 to 599",
  );

/** A time to wait that a timer can hold. */
export const milliseconds = () =>
  z
    .number()
    .min(0)
    .max(2 ** 31 - 1);

export const callable = () => z.custom((value) => typeof value === "function", "must be a function");
