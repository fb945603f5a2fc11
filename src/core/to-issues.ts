import type { Issue } from "../errors/index.js";
import type { StandardIssue } from "../schemas/standard-schema.js";

/** Issues as this package gives them, from those of zod or of any Standard Schema. */
export function toIssues(issues: readonly StandardIssue[], at: Issue["path"] = []): Issue[] {
  return issues.map(({ message, path = [] }) => ({
    path: [
      ...at,
      ...path.map((step) => {
        const key = typeof step === "object" ? step.key : step;
        return typeof key === "number" ? key : String(key);
      }),
    ],
    message,
  }));
}
