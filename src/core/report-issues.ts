import type { Issue } from "../errors/index.js";
import type { Call, ResponseCheck } from "./call.js";
import { answerIssues } from "./public-error.js";
import type { WireResponse } from "./transport.js";

/** What is wrong with an answer is an error, or is logged, as the client is set. */
export function reportIssues(issues: Issue[], { status }: WireResponse, call: Call, check: ResponseCheck): void {
  const error = answerIssues(call, status, issues);
  if (check.mode === "error") throw error;
  check.warn(error.message);
}
