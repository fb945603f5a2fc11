/**
 * Reads `Retry-After`, seconds or a date, as ms from now; `undefined` if there is none that makes sense. A date is taken
 * relative to the response's own `Date`, so that it does not matter whose clock is wrong.
 */
export function retryAfterMs(headers: Record<string, string>, now: number): number | undefined {
  const value = headers["retry-after"]?.trim();
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return finite(Number(value) * 1_000);
  if (/^[-+\d.]/.test(value)) return undefined;
  const date = Date.parse(value);
  if (Number.isNaN(date)) return undefined;
  const served = Date.parse(headers.date ?? "");
  return Math.max(0, date - (Number.isNaN(served) ? now : served));
}

const finite = (delayMs: number) => (Number.isFinite(delayMs) ? delayMs : undefined);
