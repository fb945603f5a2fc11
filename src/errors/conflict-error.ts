import { ApiError } from "./api-error.js";
import { brand } from "./brand.js";

/**
 * 409: the request conflicts with the current state, for example a SKU that is taken.
 */
export class ConflictError extends ApiError {
  static {
    brand(ConflictError, "ConflictError");
  }
}
