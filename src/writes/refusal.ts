import { isServiceError } from "../client/for-add-ons.js";
import {
  ApiError,
  AuthenticationError,
  InputValidationError,
  PermissionError,
  RateLimitError,
  ResponseValidationError,
} from "../client/index.js";
import { isPassingStatus, isRefusalStatus } from "../service/status.js";

/** Whether the reason of a failure lies in the client, the account or the connection, not in the write. */
export function concernsAllWrites(error: unknown): boolean {
  if (!(error instanceof ApiError) || error instanceof AuthenticationError || error instanceof RateLimitError)
    return true;
  return error instanceof PermissionError && error.reason === "read-only";
}

const PERMISSION_REASONS: readonly string[] = ["insufficient-permissions", "warehouse-out-of-scope"];

/** Whether the service itself refuses this one write. A proxy's error page or a read-only account concerns them all. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError) || !isServiceError(error)) return false;
  if (error instanceof PermissionError) return PERMISSION_REASONS.includes(error.reason);
  return isRefusalStatus(error.status);
}

/** Whether a look-up would fail again in the same way, so that it cannot find out what became of the write. */
export function isLastingRefusal(error: unknown): boolean {
  if (error instanceof ResponseValidationError || error instanceof InputValidationError) return true;
  if (!(error instanceof ApiError) || !isServiceError(error) || concernsAllWrites(error)) return false;
  return !isPassingStatus(error.status);
}
