import * as z from "zod";
import { isRecord, readFields } from "./copy-of.js";
import { ConfigurationError, InputValidationError, type Issue } from "./errors/index.js";
import { type DescribableIssue, describeIssue } from "./errors/input-errors.js";
import type { LazySchema } from "./field.js";
import { findInputIssues, type IssueWording } from "./input-issues.js";
import { fieldOf, isObject } from "./unknown.js";

/**
 * Returns a copy of an argument, or throws an `InputValidationError` with one issue per field that its schema does not
 * allow. `at` is the argument's name, if it has one.
 */
export function checkInput<T>(
  method: string,
  schema: LazySchema<z.ZodType>,
  given: T,
  at: Issue["path"] = [],
  naming: Pick<IssueWording, "noun" | "explainName"> = { noun: "field" },
): T {
  const value = readFields(given, Object.keys(Object(fieldOf(schema(), "shape"))));
  const foreign = foreignObjectIssue(given, at);
  // Without messages to prepare, a valid argument takes 0.04 µs instead of 0.9 µs (bench: overhead).
  if (!foreign && z.validate(schema(), value)) return value;
  const issues = foreign ? [foreign] : findInputIssues(schema(), value, { ...naming, at, quotesStrings: true });
  if (issues.length > 0) throw new InputValidationError(method, issues);
  return value;
}

export function checkMethodOptions(method: string, schema: LazySchema<z.ZodType>, options: unknown = {}): void {
  checkInput(method, schema, options, pathOfOptions(options));
}

/** Throws a `ConfigurationError` that names each option of `functionName` which the schema does not allow. */
export function checkConfiguration(
  functionName: string,
  schema: z.ZodType,
  options: unknown = {},
  { quotesStrings = false } = {},
): void {
  const foreign = foreignObjectIssue(options, ["options"]);
  const wording: IssueWording = { at: pathOfOptions(options), noun: "option", quotesStrings };
  const issues = foreign ? [foreign] : findInputIssues(schema, options, wording);
  if (issues.length > 0) throw configurationError(functionName, issues);
}

/** A Map, or a signal that was passed instead of `{ signal }`, has no fields: it would count as an empty object. */
function foreignObjectIssue(given: unknown, at: Issue["path"]): Issue | undefined {
  if (!isObject(given) || Array.isArray(given) || isRecord(given)) return undefined;
  const name = Object.prototype.toString.call(given).slice("[object ".length, -1);
  return { path: at, message: `must be a plain object, not an instance of ${name}` };
}

export const configurationError = (functionName: string, issues: readonly DescribableIssue[]) =>
  new ConfigurationError(`${functionName}: ${issues.map(describeIssue).join("; ")}`);

/** An option has its own name in messages. If there is no object, the message names the argument. */
const pathOfOptions = (options: unknown): Issue["path"] => (isObject(options) ? [] : ["options"]);
