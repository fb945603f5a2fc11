/**
 * An exact decimal number, `digits / 10^scale`. Stock is counted in these, since binary fractions drift:
 * 0.1 + 0.2 - 0.3 must leave nothing.
 */
export interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

export const ZERO: Decimal = { digits: 0n, scale: 0 };

/** The decimal that a JSON number was written as; exact for up to 15 significant digits. */
export function decimalOf(value: number): Decimal {
  if (Number.isSafeInteger(value)) return { digits: BigInt(value), scale: 0 };
  const [mantissa = "0", exponent = "0"] = String(value).split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

export function plus(a: Decimal, b: Decimal): Decimal {
  if (a.scale === b.scale) return { digits: a.digits + b.digits, scale: a.scale };
  const scale = Math.max(a.scale, b.scale);
  return { digits: scaled(a, scale) + scaled(b, scale), scale };
}

export function minus(a: Decimal, b: Decimal): Decimal {
  return plus(a, { digits: -b.digits, scale: b.scale });
}

/** Negative, zero or positive, as `a` is less than, equal to or greater than `b`. */
export function compare(a: Decimal, b: Decimal): number {
  const { digits } = minus(a, b);
  return digits < 0n ? -1 : digits > 0n ? 1 : 0;
}

export function smaller(a: Decimal, b: Decimal): Decimal {
  return compare(a, b) <= 0 ? a : b;
}

/** The number whose JSON form is this decimal. */
export function toNumber({ digits, scale }: Decimal): number {
  if (scale === 0) return Number(digits);
  const sign = digits < 0n ? "-" : "";
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, "0");
  return Number(`${sign}${text.slice(0, -scale)}.${text.slice(-scale)}`);
}

function scaled({ digits, scale }: Decimal, wanted: number): bigint {
  return wanted === scale ? digits : digits * 10n ** BigInt(wanted - scale);
}
