/** A longer wait is a mistake, and would stop the client for good. */
const LONGEST_MS = 86_400_000;

/**
 * Reads `Retry-After`, seconds or a date, as ms from now; `undefined` when there is none that makes sense. A date is
 * taken relative to the answer's own `Date`, so that it does not matter whose clock is wrong.
 */
export function retryAfterMs(headers: Record<string, string>, now: number): number | undefined {
  const value = headers["retry-after"]?.trim();
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return plausible(Number(value) * 1_000);
  if (/^[-+\d.]/.test(value)) return undefined;
  const date = Date.parse(value);
  if (Number.isNaN(date)) return undefined;
  const served = Date.parse(headers.date ?? "");
  return plausible(Math.max(0, date - (Number.isNaN(served) ? now : served)));
}

const plausible = (delayMs: number) => (delayMs <= LONGEST_MS ? delayMs : undefined);
