import { brand } from "./brand.js";
import { StocklotError } from "./stocklot-error.js";

/**
 * Paging cannot go on: the service says that there is more but gives nothing new, or with `gapless` the continuity of the
 * list cannot be shown.
 */
export class PaginationError extends StocklotError {
  static {
    brand(PaginationError, "PaginationError");
  }
}
