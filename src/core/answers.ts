import type { z } from "zod";
import type { Issue } from "../errors/index.js";
import type { LazySchema } from "../schemas/field.js";
import type { StandardSchema } from "../schemas/standard-schema.js";
import type { Answer, Call, ResponseCheck } from "./call.js";
import { readJson } from "./read-json.js";
import { reportIssues } from "./report-issues.js";
import { toIssues } from "./to-issues.js";
import type { WireResponse } from "./transport.js";

/** A JSON body that follows a schema of ours. It is given as it came, with the fields that the schema does not know. */
/* @__NO_SIDE_EFFECTS__ */
export function json<T>(schema: LazySchema<z.ZodType<T>>): Answer<T> {
  return (response, call, check) => {
    const data = readJson(response, call, check);
    conforms(schema, data, response, call, check);
    return data;
  };
}

/** Holds data against a schema, as strictly as the client is set to. When it returns, the data counts as checked. */
export function conforms<T>(
  schema: LazySchema<z.ZodType<T>>,
  data: unknown,
  response: WireResponse,
  call: Call,
  check: ResponseCheck,
): asserts data is T {
  if (check.mode === "off") return;
  const result = schema().safeParse(data);
  if (!result.success) reportIssues(toIssues(result.error.issues), response, call, check);
}

/** A JSON body that follows a schema of the caller's; what the schema makes of it is given. */
export function standardJson<T>(schema: StandardSchema<T>): Answer<T> {
  return async (response, call, check) => validate(schema, readJson(response, call, check), [], response, call, check);
}

/** Puts data through a schema of the caller's. */
export async function validate<T>(
  schema: StandardSchema<T>,
  data: unknown,
  at: Issue["path"],
  response: WireResponse,
  call: Call,
  check: ResponseCheck,
): Promise<T> {
  if (check.mode === "off") return trusted(data);
  const validation = schema["~standard"].validate(data);
  const result = "then" in validation ? await call.validated(validation) : validation;
  if (!result.issues) return result.value;
  reportIssues(toIssues(result.issues, at), response, call, check);
  return trusted(data);
}

/** The caller has asked for data that is not checked. */
export const trusted = <T>(data: unknown) => data as T;
