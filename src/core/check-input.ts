import type { z } from "zod";
import { InputValidationError, type Issue } from "../errors/index.js";
import type { LazySchema } from "../schemas/field.js";
import { toIssues } from "./answers.js";

/** Rejects an argument that its schema does not allow, with one issue a field. `at` is the argument's name, if it has one. */
export function checkInput(
  method: string,
  schema: LazySchema<z.ZodType>,
  value: unknown,
  at: Issue["path"] = [],
): void {
  const result = schema().safeParse(value);
  if (!result.success) throw new InputValidationError(method, inputIssues(result.error.issues, at));
}

/** One issue a field. */
export function inputIssues(found: readonly z.core.$ZodIssue[], at: Issue["path"] = []): Issue[] {
  const issues = found.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ path: [...at, ...toPath(issue.path), key], message: "there is no such field" }))
      : toIssues([issue], at),
  );
  const seen = new Set<string>();
  return issues.filter(({ path }) => {
    const field = JSON.stringify(path);
    return !seen.has(field) && seen.add(field);
  });
}

const toPath = (path: readonly PropertyKey[]): Issue["path"] =>
  path.map((step) => (typeof step === "number" ? step : String(step)));
