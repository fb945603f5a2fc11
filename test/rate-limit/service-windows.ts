/** Counts a request in one of the ways in which a service may count. Returns whether the service accepts the request. */
export type ServiceWindow = (time: number) => boolean;

/** Accepts a request if fewer than `requests` other requests were counted in the interval that ends with it. */
export function slidingWindow(requests: number, intervalMs: number): ServiceWindow {
  let counted: number[] = [];
  return (time) => {
    counted = counted.filter((earlier) => earlier > time - intervalMs);
    counted.push(time);
    return counted.length <= requests;
  };
}

/** Starts to count at 0 at the beginning of each interval. */
export function fixedWindow(requests: number, intervalMs: number, phaseMs: number): ServiceWindow {
  let window = Number.NaN;
  let counted = 0;
  return (time) => {
    const current = Math.floor((time - phaseMs) / intervalMs);
    if (current !== window) counted = 0;
    window = current;
    counted += 1;
    return counted <= requests;
  };
}

/** A bucket of tokens that fills up evenly, token by token. */
export function tokenBucket(requests: number, intervalMs: number): ServiceWindow {
  let tokens = requests;
  let last = Number.NaN;
  return (time) => {
    if (!Number.isNaN(last)) tokens = Math.min(requests, tokens + ((time - last) * requests) / intervalMs);
    last = time;
    tokens -= 1;
    // Tolerates rounding errors of the sums above.
    return tokens >= -1e-6;
  };
}

/** Returns the most requests that are within any interval of this length. */
export function mostInAnyWindow(times: readonly number[], intervalMs: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (const [index, time] of sorted.entries()) {
    while ((sorted[first] ?? time) <= time - intervalMs) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
