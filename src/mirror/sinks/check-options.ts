import type { z } from "zod";
import { inputIssues, plainWords } from "../../core/check-input.js";
import { ConfigurationError } from "../../errors/index.js";
import { describeIssue } from "../../errors/input-validation-error.js";

/** Throws a `ConfigurationError` that names each option which the schema does not allow. */
export function checkOptions(title: string, schema: z.ZodType, options: unknown): void {
  const result = schema.safeParse(options, { error: plainWords });
  if (result.success) return;
  throw new ConfigurationError(`${title}: ${inputIssues(result.error.issues).map(describeIssue).join("; ")}`);
}
