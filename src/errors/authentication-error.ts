import { ApiError } from "./api-error.js";
import { brand } from "./brand.js";

/**
 * 401 even with a fresh token, or a 4xx response of `POST /Token` other than 429: the credentials are refused (400, 401,
 * 403), or `baseUrl` is wrong (404, 405).
 */
export class AuthenticationError extends ApiError {
  static {
    brand(AuthenticationError, "AuthenticationError");
  }
}
