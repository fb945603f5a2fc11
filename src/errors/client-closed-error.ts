import { brand } from "./brand.js";
import { ConnectionError } from "./connection-error.js";

/** The client was closed before the call, or while the call waited. Trying again with this client cannot help. */
export class ClientClosedError extends ConnectionError {
  static {
    brand(ClientClosedError, "ClientClosedError");
  }
}
