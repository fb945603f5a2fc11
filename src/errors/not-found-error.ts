import { ApiError } from "./api-error.js";
import { brand } from "./brand.js";

/**
 * 404: there is no such item, alias or record.
 */
export class NotFoundError extends ApiError {
  static {
    brand(NotFoundError, "NotFoundError");
  }
}
