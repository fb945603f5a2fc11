/** A way in which a service may count requests: returns whether it accepts one at this moment. */
export type ServiceWindow = (time: number) => boolean;

/** Takes a request when fewer than `requests` were counted in the interval that ends with it. */
export function slidingWindow(requests: number, intervalMs: number): ServiceWindow {
  let counted: number[] = [];
  return (time) => {
    counted = counted.filter((earlier) => earlier > time - intervalMs);
    counted.push(time);
    return counted.length <= requests;
  };
}

/** Counts from nought at the beginning of each interval. */
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
    // Rounding of the sums above is not the limiter's fault.
    return tokens >= -1e-6;
  };
}

/** The most requests that any interval of this length holds. */
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
