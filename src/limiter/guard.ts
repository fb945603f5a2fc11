/**
 * The service's clock and ours run at slightly different speeds, and it may count in whole milliseconds: a slot comes
 * back this much later than the interval says.
 */
export const safetyMarginMs = (intervalMs: number) => 3 + intervalMs / 10_000;
