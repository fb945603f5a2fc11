import { ApiError } from "./api-error.js";
import { brand } from "./brand.js";

/**
 * 401 also with a fresh token, or the token endpoint refused the credentials (then `status` is 400, 401 or 403).
 */
export class AuthenticationError extends ApiError {
  static {
    brand(AuthenticationError, "AuthenticationError");
  }
}
