import type * as z from "zod";
import type { Issue } from "./errors/index.js";
import type { DescribableIssue } from "./errors/input-errors.js";
import { redact, redactStart } from "./errors/redact.js";
import type { StandardIssue } from "./standard-schema.js";
import { fieldOf, isObject } from "./unknown.js";
import { unknownNameMessage } from "./unknown-name.js";

export interface IssueWording {
  /** Where the value is, such as the name of the argument. */
  at?: Issue["path"];
  /** What the names are. */
  noun: "field" | "option" | "parameter";
  /** Why a name is not allowed, if more is known than that. */
  explainName?: (name: string) => string | undefined;
  /** Whether wrong strings are quoted. Those of options may be a secret that was passed in the wrong option. */
  quotesStrings: boolean;
}

/** A hostile response can cause millions of issues. As many as the largest page has records. */
export const MAX_ISSUES = 1_000;
/** Of one object. Each is compared with the known names. */
const MAX_UNKNOWN_NAMES = 100;

/** What is wrong with a value by its schema, at most one issue per field. */
export function findInputIssues(schema: z.ZodType, value: unknown, wording: IssueWording): DescribableIssue[] {
  const knownNames = new Map<readonly string[], readonly string[]>();
  const error = (issue: z.core.$ZodRawIssue) => {
    if (issue.code === "unrecognized_keys")
      knownNames.set(issue.keys, Object.keys(Object(fieldOf(issue.inst, "shape"))));
    return describeProblem(issue);
  };
  const found = schema.safeParse(value, { error, reportInput: true }).error?.issues ?? [];
  const issues = found
    .slice(0, MAX_ISSUES)
    .flatMap(nearestBranchOfUnion)
    .flatMap((issue): DescribableIssue[] =>
      issue.code === "unrecognized_keys"
        ? issue.keys
            .slice(0, MAX_UNKNOWN_NAMES)
            .map((name) => issueOfName(name, issue.path, knownNames.get(issue.keys) ?? [], wording))
        : [boundedIssue({ path: issue.path, message: withWrongValue(issue, wording) }, wording.at)],
    );
  const fields = new Set<string>();
  return issues.filter(({ path }) => fields.size < fields.add(JSON.stringify(path)).size);
}

/** How a response differs from its schema. In English, whatever messages the application has set in zod. */
export function describeMismatch(issue: z.core.$ZodRawIssue): string {
  const { code, input } = issue;
  if (code === "invalid_type") return `expected ${issue.expected}, received ${input === null ? "null" : typeof input}`;
  if (code === "invalid_value")
    return `expected ${joinAlternatives(issue.values.map((value) => JSON.stringify(value)))}`;
  return "is not as documented";
}

/** What is wrong with a value. zod's own messages are not meant for users, and the application may have set others. */
export function describeProblem(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined)
        return (issue.path ?? []).length === 0 ? "the argument is required" : "is required";
      if (fieldOf(issue.inst, "isInt") === true) return "must be an integer";
      if (issue.input === Infinity || issue.input === -Infinity) return "must be a finite number";
      if (issue.expected === "record" && isObject(issue.input)) return "must be a plain object";
      return `must be ${TYPE_DESCRIPTIONS[issue.expected] ?? issue.expected}`;
    case "too_small":
      if (issue.origin === "string" || issue.origin === "array") return "must not be empty";
      return `must be ${issue.inclusive ? "at least" : "greater than"} ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    case "invalid_value":
      return `must be ${joinAlternatives(issue.values.map((value) => JSON.stringify(value)))}`;
    default:
      return "is not valid";
  }
}

const TYPE_DESCRIPTIONS: Record<string, string> = {
  int: "an integer",
  string: "a string",
  number: "a number",
  boolean: "a boolean",
  object: "an object",
  record: "an object",
  array: "an array",
};

const joinAlternatives = (values: string[]) =>
  values.length > 1 ? `${values.slice(0, -1).join(", ")} or ${values.at(-1)}` : values.join();

/** Of a union: the issues within the alternative whose type the value has, if there is one. */
function nearestBranchOfUnion(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  const branch = issue.errors.find((inner) =>
    inner.every(({ code, path }) => path.length > 0 || !TYPE_MISMATCH_CODES.has(code)),
  );
  if (branch === undefined || branch.length === 0) return [issue];
  return branch.flatMap((inner) => nearestBranchOfUnion({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** Issues that rule an alternative out. */
const TYPE_MISMATCH_CODES: ReadonlySet<string> = new Set(["invalid_type", "invalid_value", "invalid_union", "custom"]);

function issueOfName(
  name: string,
  path: readonly PropertyKey[],
  known: readonly string[],
  { at, noun, explainName }: IssueWording,
): DescribableIssue {
  const reason = explainName?.(name);
  const message = reason ? `unknown ${noun} ${JSON.stringify(name)}: ${reason}` : unknownNameMessage(noun, name, known);
  return { ...boundedIssue({ path: [...path, name], message }, at), isAboutName: true };
}

/** The message, with the wrong value if it states what the value must be. */
function withWrongValue(issue: z.core.$ZodIssue, { at = [], quotesStrings }: IssueWording): string {
  const { code, message, input, path } = issue;
  if (input === undefined) return [...at, ...path].length === 0 ? "the argument is required" : "is required";
  if (!(EXPECTING_CODES.has(code) || isExpectation(issue)) || isLength(issue)) return message;
  const isQuoted = quotesStrings && ![...at, ...path].some((step) => SECRET_FIELDS.has(step));
  return `${message}, not ${describeValue(input, isQuoted, mayBeString(issue))}`;
}

/** Issues whose message states what the value must be. */
const EXPECTING_CODES: ReadonlySet<string> = new Set([
  "invalid_type",
  "invalid_value",
  "invalid_union",
  "too_small",
  "too_big",
]);

const isExpectation = (issue: z.core.$ZodIssue) => issue.code === "custom" && issue.params?.isExpectation === true;

const isLength = (issue: z.core.$ZodIssue) =>
  (issue.code === "too_small" || issue.code === "too_big") && issue.origin !== "number" && issue.origin !== "int";

const mayBeString = (issue: z.core.$ZodIssue) =>
  issue.code === "invalid_union" || (issue.code === "invalid_type" && issue.expected === "string");

/** What may contain a secret in any argument. */
const SECRET_FIELDS: ReadonlySet<PropertyKey> = new Set(["headers", "clients"]);

const MAX_QUOTED_LENGTH = 40;

/** A string is redacted before it is cut, or a part of a secret could remain. A number in the place of a string may be a secret. */
function describeValue(value: unknown, isQuoted: boolean, maybeSecretNumber: boolean): string {
  if (typeof value === "string" && isQuoted) return JSON.stringify(shortenText(redact(value), MAX_QUOTED_LENGTH));
  if (value === null) return "null";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : "a Date";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "boolean" || (typeof value === "number" && (isQuoted || !maybeSecretNumber)))
    return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

const MAX_PATH_STEPS = 20;
const MAX_PATH_STEP_LENGTH = 100;
const MAX_MESSAGE_LENGTH = 500;

/** The first issues that zod or any Standard Schema found, each of a bounded size. */
export const boundedIssues = (issues: readonly StandardIssue[], at: Issue["path"] = []): Issue[] =>
  issues.slice(0, MAX_ISSUES).map((issue) => boundedIssue(issue, at));

/** One issue of a bounded size. */
export function boundedIssue({ message, path = [] }: StandardIssue, at: Issue["path"] = []): Issue {
  const steps = path.slice(0, MAX_PATH_STEPS + 1).map((step) => {
    const key = typeof step === "object" ? step.key : step;
    return typeof key === "number" ? key : String(key);
  });
  const whole: Issue["path"] = [...at, ...steps];
  const shown: Issue["path"] = whole.length > MAX_PATH_STEPS ? [...whole.slice(0, MAX_PATH_STEPS), "…"] : whole;
  return {
    path: shown.map((step) => (typeof step === "number" ? step : redactStart(step, MAX_PATH_STEP_LENGTH))),
    message: redactStart(message, MAX_MESSAGE_LENGTH),
  };
}

/** The beginning of a long string. */
export const shortenText = (text: string, length: number) =>
  text.length > length ? `${text.slice(0, length)}…` : text;
