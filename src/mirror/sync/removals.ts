/** A run may always remove this many records of a resource. */
const MAX_UNQUESTIONED = 50;

/** A second pass that confirms many removals begins this long after the first, in ms: a service may return nothing for a moment. */
export const CONFIRM_AFTER_MS = 3_000;

/** True if these are so many removals that the caller has to confirm them. */
export const isUnexpected = (removals: number, records: number, maxRemovedShare: number) =>
  removals > MAX_UNQUESTIONED && isLargeShare(removals, records, maxRemovedShare);

/** True if these are a large part of the copy, even of a small one. */
export const isLargeShare = (removals: number, records: number, maxRemovedShare: number) =>
  removals > records * maxRemovedShare;
