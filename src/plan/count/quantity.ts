import { Big } from "big.js";

/** A service may add in floating point: a smaller share of a quantity is no difference. */
const TOLERANCE = 1e-13;

export const sumOf = (records: readonly { units: number }[]): Big =>
  records.reduce((sum, { units }) => sum.plus(units), new Big(0));

/** Counted minus book quantity; 0 if they are equal. */
export function differenceOf(counted: number | Big, book: number | Big): Big {
  const difference = new Big(counted).minus(book);
  const size = Math.max(1, new Big(counted).abs().toNumber(), new Big(book).abs().toNumber());
  return difference.abs().lte(TOLERANCE * size) ? new Big(0) : difference;
}

export const isSameQuantity = (one: number | Big, other: number | Big): boolean => differenceOf(one, other).eq(0);
