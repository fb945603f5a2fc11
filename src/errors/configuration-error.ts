import { brand } from "./brand.js";
import { StocklotError } from "./stocklot-error.js";

/**
 * The options of a client, limiter or token store are wrong.
 */
export class ConfigurationError extends StocklotError {
  static {
    brand(ConfigurationError, "ConfigurationError");
  }
}
