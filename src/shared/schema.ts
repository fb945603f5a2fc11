import * as z from "zod";
import { en } from "zod/locales";
import { ConfigurationError, InputValidationError, type Issue } from "./errors/index.js";
import { describeIssue } from "./errors/input-errors.js";
import { redact, redactStart } from "./errors/redact.js";
import type { StandardIssue } from "./standard-schema.js";
import { fieldOf, isObject, isRecord } from "./unknown.js";
import { nearestNameHint } from "./unknown-name.js";

/** A schema that is built at its first use: building all of them would make the import of the package slow. */
export type LazySchema<S extends z.ZodType> = () => S;

/* @__NO_SIDE_EFFECTS__ */
export function lazy<S extends z.ZodType>(build: () => S): LazySchema<S> {
  let schema: S | undefined;
  return () => {
    schema ??= build();
    return schema;
  };
}

/**
 * `true` if an interface and its schema describe the same value, key by key. Interfaces are written out, with their
 * documentation, so that zod does not appear in the published types; this check keeps the two in agreement.
 */
export type SameShape<T, S extends LazySchema<z.ZodType>> = IsSameType<T, z.infer<ReturnType<S>>>;
type IsSameType<A, B> = [A, keyof A, B, keyof B] extends [B, keyof B, A, keyof A] ? true : never;

/** Returns the same fields. Each field is optional, and may be `undefined`. */
export const optionalFields = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).partial().shape;

/**
 * An object that keeps fields outside the shape, although its type lacks them. `toJSON` is refused: it would change
 * what is sent.
 */
export const objectWithOthers = <Shape extends z.ZodRawShape>(shape: Shape) =>
  (z.looseObject(shape) as z.ZodObject as z.ZodObject<Shape>).refine(
    (value) => typeof fieldOf(value, "toJSON") !== "function",
    "must be plain data, without toJSON",
  );

/** A schema with one more check, which returns what is wrong, or `undefined`. */
export const withCheck = <S extends z.ZodType>(schema: S, problem: (value: z.infer<S>) => string | undefined) =>
  schema.superRefine((value, { addIssue }) => {
    const message = problem(value);
    if (message) addIssue(message);
  });

export const string = () => z.string();

export const boolean = () => z.boolean();

/** An integer that a double holds exactly. */
export const integer = () => z.int();

/** A quantity, weight or price. */
export const decimal = () => z.number();

/** A datetime of the service: an ISO 8601 string. Its form is not checked here; `parseServiceDate` checks it. */
export const datetime = () => string().meta({ format: "date-time" });

/**
 * Returns a copy of an argument, as its schema reads it, so that the checked value is the sent value. Throws an
 * `InputValidationError` that names what is wrong. `at` is the argument's name, if it has one.
 */
export function checkInput<T>(
  method: string,
  schema: LazySchema<z.ZodType>,
  given: T,
  at: Issue["path"] = [],
  naming: IssueNaming = { noun: "field" },
): T {
  const read = readValue(schema(), given, at, naming);
  if (read.issues) throw new InputValidationError(method, read.issues);
  return read.value;
}

/** Does the same as `checkInput` for a value whose type only the schema knows. */
export const readInput = <T>(method: string, schema: LazySchema<z.ZodType<T>>, given: unknown, at: Issue["path"]): T =>
  checkInput(method, schema, given as T, at);

/** Does the same as `checkInput` for the options of a method. */
export const checkMethodOptions = <T>(method: string, schema: LazySchema<z.ZodType>, options: T): T =>
  checkInput(method, schema, options, pathOfOptions(options), { noun: "option" });

/** Does the same for the options of `functionName`. Throws a `ConfigurationError`. */
export function checkConfiguration<T>(functionName: string, schema: z.ZodType, options: T): T {
  const read = readValue(schema, options, pathOfOptions(options), { noun: "option" });
  if (read.issues) throw configurationError(functionName, read.issues);
  return read.value;
}

export const configurationError = (functionName: string, issues: readonly Issue[]) =>
  new ConfigurationError(`${functionName}: ${issues.map(describeIssue).join("; ")}`);

/** An option has its own name in messages. If there is no object, the message names the argument. */
const pathOfOptions = (options: unknown): Issue["path"] => (isObject(options) ? [] : ["options"]);

export interface IssueNaming {
  /** The kind of the names. */
  noun: "field" | "option" | "parameter";
  /** Returns why a name is not allowed, if the reason is known. */
  explainName?: (name: string) => string | undefined;
}

/** The most issues that are reported: one for each record of the largest page. A hostile response can cause millions. */
export const MAX_ISSUES = 1_000;
/** How many unknown names of one object are reported. Each is compared with the known names. */
const MAX_UNKNOWN_NAMES = 100;

const { localeError } = /* @__PURE__ */ en();

/** Describes what is wrong with a value, in English whatever messages the application has set in zod. Never shows the value. */
export const describeProblem: z.core.$ZodErrorMap = (issue) =>
  issue.code === "invalid_type" && issue.input === undefined ? "is required" : localeError(issue);

/** Returns a value as its schema reads it, or what is wrong with it. `at` is where the value is. */
export function readValue<T>(
  schema: z.ZodType,
  given: T,
  at: Issue["path"],
  { noun, explainName }: IssueNaming,
): { value: T; issues?: undefined } | { issues: Issue[] } {
  // A Map, or a signal that was passed instead of `{ signal }`, has no fields: it would count as an empty object.
  if (isObject(given) && !Array.isArray(given) && !isRecord(given)) {
    const name = Object.prototype.toString.call(given).slice("[object ".length, -1);
    return { issues: [{ path: at, message: `must be a plain object, not an instance of ${name}` }] };
  }
  const valid = readValid(schema, given);
  if (valid) return { value: valid.data as T };
  const knownNames = new Map<readonly string[], readonly string[]>();
  const error: z.core.$ZodErrorMap = (issue) => {
    if (issue.code === "unrecognized_keys")
      knownNames.set(issue.keys, Object.keys(Object(fieldOf(issue.inst, "shape"))));
    return describeProblem(issue);
  };
  const read = schema.safeParse(given, { error });
  if (read.success) return { value: read.data as T };
  const issues = read.error.issues
    .slice(0, MAX_ISSUES)
    .flatMap(nearestBranchOfUnion)
    .flatMap((issue) => {
      if (issue.code !== "unrecognized_keys") return [issue];
      const known = knownNames.get(issue.keys) ?? [];
      const names = issue.keys.slice(0, MAX_UNKNOWN_NAMES);
      return names.map((name) => issueOfName(name, issue.path, { noun, known, reason: explainName?.(name) }));
    });
  return { issues: boundedIssues(issues, at) };
}

/** Reads a valid value without preparing messages, which is faster (bench: overhead). Returns `undefined` for an invalid one. */
function readValid(schema: z.ZodType, given: unknown): { data: unknown } | undefined {
  try {
    const read = schema.safeParse(given);
    return read.success ? read : undefined;
  } catch {
    // A getter of the value has thrown, and will throw again; or a message that the application has set in zod has thrown.
    return undefined;
  }
}

/** The name of an unknown option is shown, unless it is a known secret or may be one: name and value may be confused. */
function issueOfName(
  name: string,
  path: readonly PropertyKey[],
  { noun, known, reason }: { noun: string; known: readonly string[]; reason: string | undefined },
): StandardIssue {
  const hint = reason === undefined ? nearestNameHint(name, known) : `: ${reason}`;
  return noun === "option" && (name.length > MAX_SHOWN_NAME_LENGTH || redact(name) !== name)
    ? { path, message: "unknown option. Its name is not shown, since it may be a secret" }
    : { path: [...path, name], message: `unknown ${noun}${hint}` };
}

/** No option has a longer name, but many secrets and tokens are longer. */
const MAX_SHOWN_NAME_LENGTH = 40;

/** For a union type, returns the issues of the alternative whose type the value has, if there is one. */
function nearestBranchOfUnion(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  const branch = issue.errors.find((inner) =>
    inner.every(({ code, path }) => path.length > 0 || !TYPE_MISMATCH_CODES.has(code)),
  );
  if (branch === undefined || branch.length === 0) return [issue];
  return branch.flatMap((inner) => nearestBranchOfUnion({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** Codes of issues that rule an alternative out. */
const TYPE_MISMATCH_CODES: ReadonlySet<string> = new Set(["invalid_type", "invalid_value", "invalid_union", "custom"]);

const MAX_PATH_STEPS = 20;
const MAX_PATH_STEP_LENGTH = 100;
const MAX_ISSUE_MESSAGE_LENGTH = 500;

/** Returns the first issues that zod or any Standard Schema has found, each shortened. */
export const boundedIssues = (issues: readonly StandardIssue[], at: Issue["path"] = []): Issue[] =>
  issues.slice(0, MAX_ISSUES).map((issue) => boundedIssue(issue, at));

function boundedIssue({ message, path = [] }: StandardIssue, at: Issue["path"]): Issue {
  const steps = path.slice(0, MAX_PATH_STEPS + 1).map((step) => {
    const key = typeof step === "object" ? step.key : step;
    return typeof key === "number" ? key : String(key);
  });
  const whole: Issue["path"] = [...at, ...steps];
  const shown: Issue["path"] = whole.length > MAX_PATH_STEPS ? [...whole.slice(0, MAX_PATH_STEPS), "…"] : whole;
  return {
    path: shown.map((step) => (typeof step === "number" ? step : redactStart(step, MAX_PATH_STEP_LENGTH))),
    message: redactStart(message, MAX_ISSUE_MESSAGE_LENGTH),
  };
}
