import { brandErrorClasses } from "./brand.js";
import { StocklotError } from "./stocklot-error.js";

/**
 * A run of a mirror would have removed a large part of a resource from the copy (all records, or more than
 * `maxRemovedShare` and more than 50), or a plan would discontinue a large part of the catalog (more than `maxDiscontinuedShare` and more than 10 items,
 * or all of several). The list or the source may not be complete. Nothing was removed or discontinued.
 */
export class UnexpectedRemovalsError extends StocklotError {
  /** The resource, as `MirrorResource` names it; `items` of a plan. */
  readonly resource: string;
  /** Number of records that would be removed, or of items that would be discontinued. */
  readonly removals: number;
  /** Number of records that the copy has of the list, or of active items that the plan owns. */
  readonly records: number;

  constructor({
    resource,
    removals,
    records,
    message = `mirror.run: the service no longer lists ${removals} of the ${records} records of ${resource}. None of them was removed from the copy. If that is correct, confirm it with run({ allowRemovals: true }).`,
  }: {
    resource: string;
    removals: number;
    records: number;
    message?: string;
  }) {
    super(message);
    this.resource = resource;
    this.removals = removals;
    this.records = records;
  }
}

brandErrorClasses({ UnexpectedRemovalsError });
