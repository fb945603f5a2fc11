import type { Issue } from "../errors/index.js";
import type { StandardIssue } from "../schemas/standard-schema.js";

/** A hostile response can hold millions of them. */
export const MAX_ISSUES = 100;
const MAX_STEPS = 20;
const MAX_STEP_LENGTH = 100;
const MAX_MESSAGE_LENGTH = 500;

/** The first issues that zod or any Standard Schema found, each of a bounded size. */
export const toIssues = (issues: readonly StandardIssue[], at: Issue["path"] = []): Issue[] =>
  issues.slice(0, MAX_ISSUES).map((issue) => toIssue(issue, at));

/** One of them. */
export function toIssue({ message, path = [] }: StandardIssue, at: Issue["path"] = []): Issue {
  const steps = path.slice(0, MAX_STEPS + 1).map((step) => {
    const key = typeof step === "object" ? step.key : step;
    return typeof key === "number" ? key : String(key);
  });
  return issueAt([...at, ...steps], message);
}

/** An issue whose path and message are shortened if they are long. */
export function issueAt(path: Issue["path"], message: string): Issue {
  const steps: Issue["path"] = path.length > MAX_STEPS ? [...path.slice(0, MAX_STEPS), "…"] : path;
  return {
    path: steps.map((step) => (typeof step === "number" ? step : shortened(step, MAX_STEP_LENGTH))),
    message: shortened(message, MAX_MESSAGE_LENGTH),
  };
}

/** The beginning of a long text. */
export const shortened = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text);
