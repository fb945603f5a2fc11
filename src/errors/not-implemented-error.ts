import { ApiError } from "./api-error.js";
import { brand } from "./brand.js";

/**
 * 501: the endpoint exists, but the operation is unavailable. Never retried.
 */
export class NotImplementedError extends ApiError {
  static {
    brand(NotImplementedError, "NotImplementedError");
  }
}
