const DAY_MS = 86_400_000;
const LONGEST_MARGIN_MS = 60_000;

/**
 * How long a token may be used, in ms. `expires_in` is documented as "token lifetime" and taken as seconds; one that is
 * missing, zero or senseless means: until it is refused, at most a day.
 */
export function tokenLifetimeMs(expiresIn: unknown): number {
  const seconds = typeof expiresIn === "string" && expiresIn.trim() !== "" ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== "number" || !(seconds >= 1)) return DAY_MS;
  return Math.min(seconds * 1_000, DAY_MS);
}

/** When to get the next token: a minute before the end, or a tenth of the time that is left. */
export function refreshTime(expiresAt: number, now: number): number {
  return expiresAt - Math.min(LONGEST_MARGIN_MS, (expiresAt - now) / 10);
}
