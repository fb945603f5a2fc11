import { brand } from "./brand.js";
import { StocklotError } from "./stocklot-error.js";

/** There was no usable answer: the connection failed or broke, or the client is closed. `cause` says why. */
export class ConnectionError extends StocklotError {
  static {
    brand(ConnectionError, "ConnectionError");
  }
}
