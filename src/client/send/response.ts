import * as z from "zod";
import { type Issue, ResponseValidationError } from "../../shared/errors/index.js";
import { describeIssue } from "../../shared/errors/input-errors.js";
import { redactStart } from "../../shared/errors/redact.js";
import { boundedIssues, describeProblem, type LazySchema, lazy, MAX_ISSUES } from "../../shared/schema.js";
import type { StandardSchema } from "../../shared/standard-schema.js";
import { untilAborted } from "../../shared/time/wait.js";
import { castUnchecked, fieldOf } from "../../shared/unknown.js";
import { parseJsonOrUndefined, readValidText } from "../transport/exchange.js";
import type { Call, ResponseContext, ResponseReader } from "./call.js";

/** Creates a reader that validates a JSON body and returns it as received, with the fields that the schema does not know. */
/* @__NO_SIDE_EFFECTS__ */
export function createJsonReader<T>(schema: LazySchema<z.ZodType<T>>): ResponseReader<T> {
  const compiled = compileLazily(schema);
  return (context) => {
    const data = readJsonBody(context);
    assertMatchesSchema(compiled, data, context);
    return data;
  };
}

/**
 * Returns a schema that zod compiles at its first use. Compiling takes less time than one check of a page. Later checks of a page
 * take 2 µs instead of 45 µs and allocate nothing (bench: page). Where code generation is forbidden, zod checks as usual.
 */
/* @__NO_SIDE_EFFECTS__ */
export const compileLazily = <S extends z.ZodType>(schema: LazySchema<S>): LazySchema<S> =>
  lazy(() => z.compile(schema()));

/** Validates data as strictly as the client is configured, and narrows its type. */
export function assertMatchesSchema<T>(
  schema: LazySchema<z.ZodType<T>>,
  data: unknown,
  context: ResponseContext,
): asserts data is T {
  if (context.validation.mode === "off" || z.validate(schema(), data)) return;
  const issues = findValidationIssues(schema(), data);
  if (issues.length > 0) throwOrLogIssues(issues, context);
}

/** How many records are validated together. No page of the service has more. */
const MAX_VALIDATED_RECORDS = 1_000;

/** Returns all issues that zod finds. In a list longer than a page, only the issues of the first batch that has any. */
function findValidationIssues(schema: z.ZodType, data: unknown): Issue[] {
  const records = Array.isArray(data) ? data : fieldOf(data, "value");
  if (!Array.isArray(records) || records.length <= MAX_VALIDATED_RECORDS) return validateBatch(schema, data);
  for (let start = 0; start < records.length; start += MAX_VALIDATED_RECORDS) {
    const batch = records.slice(start, start + MAX_VALIDATED_RECORDS);
    const issues = validateBatch(schema, Array.isArray(data) ? batch : { ...Object(data), value: batch });
    const depth = Array.isArray(data) ? 0 : 1;
    if (issues.length > 0) return issues.map((issue) => ({ ...issue, path: shiftIndex(start, issue.path, depth) }));
  }
  return [];
}

const validateBatch = (schema: z.ZodType, data: unknown) =>
  boundedIssues(schema.safeParse(data, { error: describeProblem }).error?.issues ?? []);

/** Returns a path whose index at `depth` counts in the whole list instead of the batch. */
const shiftIndex = (start: number, path: Issue["path"], depth: number): Issue["path"] =>
  path.map((step, index) => (index === depth && typeof step === "number" ? step + start : step));

/** Creates a reader that returns the output of the caller's schema for a JSON body. */
export function createStandardJsonReader<T>(schema: StandardSchema<T>): ResponseReader<T> {
  return async (context) => validateWithStandardSchema(schema, readJsonBody(context), [], context);
}

/** Returns the output of the caller's schema for data. */
export async function validateWithStandardSchema<T>(
  schema: StandardSchema<T>,
  data: unknown,
  at: Issue["path"],
  context: ResponseContext,
): Promise<T> {
  if (context.validation.mode === "off") return castUnchecked(data);
  const validation = schema["~standard"].validate(data);
  const result = "then" in validation ? await untilAborted(context.call.lifetime, validation) : validation;
  if (!result.issues) return result.value;
  throwOrLogIssues(boundedIssues(result.issues, at), context);
  return castUnchecked(data);
}

const MAX_BODY_EXCERPT_LENGTH = 120;

/** Returns the body as JSON. Throws a `ResponseValidationError` if it is not JSON or not UTF-8. */
export function readJsonBody(context: ResponseContext): unknown {
  const { response, call } = context;
  const text = readValidText(response);
  // If invalid bytes became replacement characters, a wrong SKU would pass every schema.
  if (text === undefined)
    throw unreadableError(context, isGzip(response.body) ? GZIP_PROBLEM : "the response is not valid UTF-8");
  const data = parseJsonOrUndefined(text);
  // The parser's error is not shown. It quotes the body, and a secret that it cuts could not be recognised for redaction.
  if (data === undefined) throw unreadableError(context, `the response is ${describeUnreadableBody(text, call)}`);
  return data;
}

/** The problem of a body that a proxy has compressed without saying so. */
export const GZIP_PROBLEM = "the response is compressed with gzip, but has no header content-encoding";

/** The magic number of gzip, which is not valid UTF-8. */
const isGzip = ([first, second]: Uint8Array) => first === 0x1f && second === 0x8b;

function describeUnreadableBody(text: string, { request }: Call): string {
  if (text === "") return "empty, not JSON";
  // The body is not shown, because a part of a token could not be recognised for redaction.
  if (request.isTokenRequest) return "not JSON";
  return `not JSON but ${JSON.stringify(redactStart(text, MAX_BODY_EXCERPT_LENGTH).replace(/\s+/g, " "))}`;
}

const unreadableError = (context: ResponseContext, problem: string) =>
  createResponseError(context, `${problem}${alreadyAppliedWarning(context)}`, [{ path: [], message: problem }]);

const MAX_SHOWN_ISSUES = 3;

/** Returns the error for a success whose body is not what the service documents. */
export function invalidResponseError(context: ResponseContext, issues: Issue[], advice = ""): ResponseValidationError {
  const shown = issues.slice(0, MAX_SHOWN_ISSUES).map(describeIssue).join("; ");
  const unseen = issues.length < MAX_ISSUES ? issues.length - MAX_SHOWN_ISSUES : "many";
  const more = issues.length > MAX_SHOWN_ISSUES ? ` and ${unseen} more` : "";
  const problem = `the response is not what the service documents: ${shown}${more}${alreadyAppliedWarning(context)}. ${advice}`;
  return createResponseError(context, problem.trimEnd(), issues);
}

const createResponseError = ({ response, call }: ResponseContext, problem: string, issues: Issue[]) =>
  new ResponseValidationError(`${call.label}: ${problem}`, {
    status: response.status,
    issues,
    applied: call.isWrite ? "yes" : "no",
  });

/** Returns a warning for a write that succeeded although its response cannot be used. */
const alreadyAppliedWarning = ({ response, call }: ResponseContext) =>
  call.isWrite ? `. The service has applied it (HTTP ${response.status}): do not resend it` : "";

/** Throws or logs the issues of a response, as the client is configured. */
export function throwOrLogIssues(issues: Issue[], context: ResponseContext): void {
  const isError = context.validation.mode === "error";
  // The response to a token request is validated in every mode.
  const isOptional = isError && !context.call.request.isTokenRequest;
  const advice = 'To accept such responses anyway, set responseValidation to "warn" or "off".';
  const error = invalidResponseError(context, issues, isOptional ? advice : "");
  if (isError) throw error;
  context.validation.warn(error.message);
}
