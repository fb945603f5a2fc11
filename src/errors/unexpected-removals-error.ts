import { brandErrorClass } from "./brand.js";
import { StocklotError } from "./stocklot-error.js";
import { wording } from "./wording.js";

/**
 * A run of a mirror would have removed a large part of a resource from the copy: more than `maxRemovedShare` and more than 50
 * records. The service may have returned a list that is not complete. Nothing of the resource was removed.
 */
export class UnexpectedRemovalsError extends StocklotError {
  static {
    brandErrorClass(UnexpectedRemovalsError, "UnexpectedRemovalsError");
  }

  /** The resource, as `MirrorResource` names it. */
  readonly resource: string;
  /** Number of records that the service no longer lists. */
  readonly removals: number;
  /** Number of records in the copy. */
  readonly records: number;

  constructor({ resource, removals, records }: { resource: string; removals: number; records: number }) {
    super(
      `mirror.run: the service no longer lists ${removals} of the ${records} records of ${resource}. None of them was removed from the copy. If that is correct, ${wording().confirmRemovals}.`,
    );
    this.resource = resource;
    this.removals = removals;
    this.records = records;
  }
}
