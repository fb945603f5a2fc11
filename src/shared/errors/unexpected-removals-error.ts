import { brandErrorClass } from "./brand.js";
import { StocklotError } from "./stocklot-error.js";

/**
 * A run of a mirror would have removed a large part of a resource from the copy (more than `maxRemovedShare` and more than 50
 * records), or a plan would discontinue a large part of the catalog (more than `maxDiscontinuedShare` and more than 10 items,
 * or all of several). The list or the source may not be complete. Nothing was removed or discontinued.
 */
export class UnexpectedRemovalsError extends StocklotError {
  static {
    brandErrorClass(UnexpectedRemovalsError, "UnexpectedRemovalsError");
  }

  /** The resource, as `MirrorResource` names it; `items` of a plan. */
  readonly resource: string;
  /**
   * Number of records that would be removed, together with those that were removed in the last seven days; or of items that
   * would be discontinued.
   */
  readonly removals: number;
  /** Number of records that the copy had at most in the last seven days, or of active items that the plan owns. */
  readonly records: number;

  constructor({
    resource,
    removals,
    records,
    earlier = 0,
    message = mirrorMessage({ resource, unseen: removals - earlier, inCopy: records - earlier, earlier }),
  }: {
    resource: string;
    removals: number;
    records: number;
    /** How many of the removals took place before. */
    earlier?: number;
    message?: string;
  }) {
    super(message);
    this.resource = resource;
    this.removals = removals;
    this.records = records;
  }
}

function mirrorMessage({
  resource,
  unseen,
  inCopy,
  earlier,
}: Record<"unseen" | "inCopy" | "earlier", number> & { resource: string }): string {
  const before = earlier > 0 ? ` ${earlier} others were removed in the last seven days.` : "";
  return `mirror.run: the service no longer lists ${unseen} of the ${inCopy} records of ${resource}. None of them was removed from the copy.${before} If that is correct, confirm it with run({ allowRemovals: true }).`;
}
