import { ConfigurationError } from "../errors/index.js";
import { unknownNameMessage } from "../errors/unknown-name.js";

/** How many requests may be sent, and when. */
export interface RateLimitOptions {
  /**
   * Requests in any interval, token requests included. `Infinity` for no limit.
   * @default 100
   */
  requests?: number | undefined;
  /**
   * Length of the interval in ms.
   * @default 60_000
   */
  intervalMs?: number | undefined;
  /**
   * Slots of each interval that are reserved for other calls: further pages of an iteration may not use them. Must be
   * less than `requests`; `0` reserves none.
   * @default a tenth of `requests`
   */
  reserved?: number | undefined;
  /**
   * Requests in flight at the same time. `Infinity` for any number.
   * @default 16
   */
  maxConcurrent?: number | undefined;
}

export type RateLimitSettings = { [Name in keyof RateLimitOptions]-?: number };

const DEFAULT_INTERVAL_MS = 60_000;

export const UNLIMITED_SETTINGS: RateLimitSettings = {
  requests: Infinity,
  intervalMs: DEFAULT_INTERVAL_MS,
  reserved: 0,
  maxConcurrent: Infinity,
};

/**
 * The options with their defaults; throws a `ConfigurationError` naming each that is wrong. `otherNames` are options beside
 * these, to be suggested for a misspelled one.
 */
export function resolveRateLimitOptions(
  options: RateLimitOptions,
  otherNames: readonly string[] = [],
): RateLimitSettings {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError("rate limit: the options must be an object");
  }
  const { requests = 100, intervalMs = DEFAULT_INTERVAL_MS, maxConcurrent = 16, ...others } = options;
  const { reserved = requests === Infinity ? 0 : Math.floor(requests / 10), ...unknown } = others;
  const known = [...Object.keys(UNLIMITED_SETTINGS), ...otherNames];
  const wrong = [
    ...Object.keys(unknown).map((name) => unknownNameMessage("option", name, known)),
    !isPositiveIntegerOrInfinity(requests) &&
      `requests must be an integer greater than 0, or Infinity, not ${describe(requests)}`,
    !(typeof intervalMs === "number" && intervalMs > 0) &&
      `intervalMs must be a number of ms greater than 0, or Infinity, not ${describe(intervalMs)}`,
    !isPositiveIntegerOrInfinity(maxConcurrent) &&
      `maxConcurrent must be an integer greater than 0, or Infinity, not ${describe(maxConcurrent)}`,
    isPositiveIntegerOrInfinity(requests) &&
      !(Number.isSafeInteger(reserved) && reserved >= 0 && reserved < requests) &&
      `reserved must be an integer from 0 to less than requests (${requests}), not ${describe(reserved)}`,
  ].filter((problem) => problem !== false);
  if (wrong.length > 0) throw new ConfigurationError(`rate limit: ${wrong.join("; ")}`);
  return { requests, intervalMs, reserved, maxConcurrent };
}

/** Only a number is shown: a string may be a secret that was passed in the wrong option. */
const describe = (value: unknown) => (typeof value === "number" ? value : `a value of type ${typeof value}`);

const isPositiveIntegerOrInfinity = (value: number) => (Number.isSafeInteger(value) && value > 0) || value === Infinity;
