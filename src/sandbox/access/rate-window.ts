import type { SandboxRateLimitSettings } from "../options/settings.js";

/** Usage of one rate limit. */
export interface RateLimitUsage {
  readonly limit: number;
  readonly used: number;
  /** Requests left before the next 429. */
  readonly remaining: number;
  /** When the next slot becomes free, in milliseconds since the epoch. */
  readonly freeAt: number;
}

/** Counts requests per client or address, in a sliding or a fixed window. */
export class RateLimitWindow {
  /** When the requests of each key were counted. */
  private readonly times = new Map<string, number[]>();

  constructor(private readonly options: SandboxRateLimitSettings) {}

  /** Counts one request; returns false if it is over the limit. */
  admit(key: string, now: number): boolean {
    const times = this.timesInWindow(key, now);
    const admitted = times.length < this.options.requests;
    if (admitted || this.options.countRefused) times.push(now);
    return admitted;
  }

  usage(key: string, now: number): RateLimitUsage {
    const times = this.timesInWindow(key, now);
    const { requests, intervalMs, window } = this.options;
    const remaining = Math.max(0, requests - times.length);
    const frees = window === "fixed" ? this.windowStart(now) : (times[times.length - requests] ?? now);
    return { limit: requests, used: times.length, remaining, freeAt: remaining > 0 ? now : frees + intervalMs };
  }

  keys(): string[] {
    return [...this.times.keys()];
  }

  /** The times within the window, oldest first; older ones are dropped. */
  private timesInWindow(key: string, now: number): number[] {
    const times = this.times.get(key) ?? [];
    const { window, intervalMs } = this.options;
    const start = window === "sliding" ? now - intervalMs + CLOCK_RESOLUTION_MS : this.windowStart(now);
    const kept = times.findIndex((time) => time >= start);
    times.splice(0, kept === -1 ? times.length : kept);
    this.times.set(key, times);
    return times;
  }

  private windowStart(now: number): number {
    return Math.floor(now / this.options.intervalMs) * this.options.intervalMs;
  }
}

/** A request exactly one interval old no longer counts. */
const CLOCK_RESOLUTION_MS = 1e-3;

/** The message of the 429 body: "Rate Limit Exceeded. 100 per Minute". */
export function rateLimitExceededMessage({
  requests,
  intervalMs,
}: Pick<SandboxRateLimitSettings, "requests" | "intervalMs">): string {
  const unit =
    INTERVAL_NAMES.get(intervalMs) ?? (intervalMs % 1000 === 0 ? `${intervalMs / 1000} Seconds` : `${intervalMs} ms`);
  return `Rate Limit Exceeded. ${requests} per ${unit}`;
}

const INTERVAL_NAMES: ReadonlyMap<number, string> = new Map([
  [1000, "Second"],
  [60_000, "Minute"],
  [3_600_000, "Hour"],
]);
