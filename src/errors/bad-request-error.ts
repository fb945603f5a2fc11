import { ApiError } from "./api-error.js";
import { brand } from "./brand.js";

/**
 * 400: the request is malformed or data is missing. A duplicate SKU may come as this or as a {@link ConflictError}.
 */
export class BadRequestError extends ApiError {
  static {
    brand(BadRequestError, "BadRequestError");
  }
}
