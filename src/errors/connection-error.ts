import { brand } from "./brand.js";
import { StocklotError } from "./stocklot-error.js";

/**
 * There is no usable response: the connection failed or broke, time ran out ({@link TimeoutError}), or the client is closed
 * ({@link ClientClosedError}). `cause` says why.
 */
export class ConnectionError extends StocklotError {
  static {
    brand(ConnectionError, "ConnectionError");
  }
}
