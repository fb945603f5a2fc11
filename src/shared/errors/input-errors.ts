import { brandErrorClasses } from "./brand.js";
import { redactData } from "./redact.js";
import { type Issue, StocklotError } from "./stocklot-error.js";

/** The arguments of a method are wrong. Nothing was sent. */
export class InputValidationError extends StocklotError {
  /** The problems, one entry per field. */
  readonly issues: Issue[];

  constructor(method: string, issues: (Issue & { isAboutName?: boolean })[]) {
    super(`${method}: ${issues.map(describeIssue).join("; ")}`);
    this.issues = redactData(issues.map(({ path, message }) => ({ path, message })));
  }
}

export interface DescribableIssue extends Issue {
  /** The message is about the name at the end of the path. */
  isAboutName?: boolean;
}

export function describeIssue({ path: whole, message, isAboutName }: DescribableIssue): string {
  const path = isAboutName ? whole.slice(0, -1) : whole;
  return path.length === 0 ? message : `${formatIssuePath(path)}: ${message}`;
}

const formatIssuePath = (path: Issue["path"]) =>
  path.map((step, depth) => (typeof step === "number" ? `[${step}]` : depth === 0 ? step : `.${step}`)).join("");

/**
 * The options of a client, limiter or token store are wrong.
 */
export class ConfigurationError extends StocklotError {}

brandErrorClasses({ InputValidationError, ConfigurationError });
