import type { Call } from "./call.js";
import { errorOf } from "./caller-error.js";
import { consequenceOf, type Problem } from "./failure.js";
import type { AttemptResult, Progress } from "./progress.js";

/** Returns the result of a failed attempt, or of a failed wait for an attempt. */
export function failedAttempt(call: Call, before: Progress, problem: Problem): AttemptResult {
  const consequence = consequenceOf(call, problem);
  const applied = call.isWrite && consequence.applied === "unknown" ? "unknown" : before.applied;
  const progress = { ...before, applied };
  const error = errorOf(call, progress, problem);
  const failure = { ...consequence, problem, error };
  // A problem that ends the call, or the wait for an attempt, is no failure of an attempt.
  if (NO_ATTEMPT.includes(problem.kind)) return { progress, failure };
  call.request.onFailedAttempt?.(error);
  return { progress: { ...progress, lastError: error }, failure };
}

const NO_ATTEMPT: readonly Problem["kind"][] = ["end", "slot too late", "slot source failed", "no token", "veto"];
