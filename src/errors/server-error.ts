import { ApiError } from "./api-error.js";
import { brand } from "./brand.js";

/**
 * Any 5xx but 501, after the retries are used up.
 */
export class ServerError extends ApiError {
  static {
    brand(ServerError, "ServerError");
  }
}
