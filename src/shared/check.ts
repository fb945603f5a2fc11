import type * as z from "zod";
import { ConfigurationError, InputValidationError, type Issue } from "./errors/index.js";
import { describeIssue } from "./errors/input-errors.js";
import type { LazySchema } from "./field.js";
import { type IssueNaming, readValue } from "./input-issues.js";
import { isObject } from "./unknown.js";

/**
 * Returns an argument as its schema reads it, a copy, so that what is checked is what is sent. Throws an
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

/** The same for a value of which only the schema knows the type. */
export const readInput = <T>(method: string, schema: LazySchema<z.ZodType<T>>, given: unknown, at: Issue["path"]): T =>
  checkInput(method, schema, given as T, at);

/** The same for the options of a method. */
export const checkMethodOptions = <T>(method: string, schema: LazySchema<z.ZodType>, options: T): T =>
  checkInput(method, schema, options, pathOfOptions(options), { noun: "option" });

/** The same for the options of `functionName`, with a `ConfigurationError`. */
export function checkConfiguration<T>(functionName: string, schema: z.ZodType, options: T): T {
  const read = readValue(schema, options, pathOfOptions(options), { noun: "option" });
  if (read.issues) throw configurationError(functionName, read.issues);
  return read.value;
}

export const configurationError = (functionName: string, issues: readonly Issue[]) =>
  new ConfigurationError(`${functionName}: ${issues.map(describeIssue).join("; ")}`);

/** An option has its own name in messages. If there is no object, the message names the argument. */
const pathOfOptions = (options: unknown): Issue["path"] => (isObject(options) ? [] : ["options"]);
