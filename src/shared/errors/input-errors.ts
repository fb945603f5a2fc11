import { brandErrorClasses } from "./brand.js";
import { redactData } from "./redact.js";
import { type Issue, StocklotError } from "./stocklot-error.js";

/** The arguments of a method are wrong. Nothing was sent. */
export class InputValidationError extends StocklotError {
  /** The problems, one entry per field. */
  readonly issues: Issue[];

  constructor(method: string, issues: Issue[]) {
    super(`${method}: ${issues.map(describeIssue).join("; ")}`);
    this.issues = redactData(issues);
  }
}

export const describeIssue = ({ path, message }: Issue) =>
  path.length === 0 ? message : `${formatIssuePath(path)}: ${message}`;

const formatIssuePath = (path: Issue["path"]) =>
  path.map((step, depth) => (typeof step === "number" ? `[${step}]` : depth === 0 ? step : `.${step}`)).join("");

/**
 * The options of a client, limiter or token store are wrong.
 */
export class ConfigurationError extends StocklotError {}

brandErrorClasses({ InputValidationError, ConfigurationError });
