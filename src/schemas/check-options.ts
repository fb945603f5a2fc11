import * as z from "zod";
import { ConfigurationError, type Issue } from "../errors/index.js";
import { describeIssue } from "../errors/input-errors.js";
import { isObject } from "../errors/unknown-value.js";
import { checkInput, optionErrorMessage, readableInputIssues } from "./check-input.js";
import type { LazySchema } from "./field.js";

/** An option that cannot be left out. */
export const requiredOption = <S extends z.ZodType>(schema: S) =>
  z
    .unknown()
    .refine((value): boolean => value !== undefined, "is required")
    .pipe(schema);

/** Throws a `ConfigurationError` that names each option of `functionName` which the schema does not allow. */
export function checkConfiguration(functionName: string, schema: z.ZodType, options: unknown = {}): void {
  const result = schema.safeParse(options, { error: optionErrorMessage });
  if (result.success) return;
  const issues = readableInputIssues(result.error.issues, issuePathOf(options));
  throw new ConfigurationError(`${functionName}: ${issues.map(describeIssue).join("; ")}`);
}

/** The same for the options of a method, with an `InputValidationError`. */
export function checkMethodOptions(method: string, schema: LazySchema<z.ZodType>, options: unknown = {}): void {
  checkInput(method, schema, options, issuePathOf(options));
}

/** An option has its own name in messages. If there is no object, the message names the argument. */
const issuePathOf = (options: unknown): Issue["path"] => (isObject(options) ? [] : ["options"]);
