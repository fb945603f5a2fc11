import type { z } from "zod";
import { InputValidationError, type Issue } from "../errors/index.js";
import type { LazySchema } from "../schemas/field.js";
import { toIssues } from "./to-issues.js";

/** Rejects an argument that its schema does not allow, with one issue a field. `at` is the argument's name, if it has one. */
export function checkInput(
  method: string,
  schema: LazySchema<z.ZodType>,
  value: unknown,
  at: Issue["path"] = [],
): void {
  const result = schema().safeParse(value, { error: plainWords });
  if (!result.success) throw new InputValidationError(method, inputIssues(result.error.issues, at));
}

/** One issue a field. */
export function inputIssues(found: readonly z.core.$ZodIssue[], at: Issue["path"] = []): Issue[] {
  const issues = found.flatMap((issue) => {
    if (issue.code !== "unrecognized_keys") return toIssues([issue], at);
    return toIssues(
      issue.keys.map((key) => ({ path: [...issue.path, key], message: "there is no such field" })),
      at,
    );
  });
  const fields = issues.map(({ path }) => JSON.stringify(path));
  return issues.filter((_, index) => fields.indexOf(fields[index] ?? "") === index);
}

const NOUNS: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
};

/** What is wrong with an argument, in the words that the rest of the package uses; zod's own for the rare rest. */
export function plainWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is required" : `must be ${NOUNS[issue.expected] ?? issue.expected}`;
    case "too_small":
      if (issue.origin === "string") return "must not be empty";
      return `must be ${issue.inclusive ? "at least" : "above"} ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    case "invalid_value":
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(" or ")}`;
    default:
      return undefined;
  }
}
